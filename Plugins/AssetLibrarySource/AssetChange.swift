public import Foundation

/// A change of an asset, from the ordered journal of a library.
public struct AssetChange: Hashable, Sendable {
    /// The kind of a change.
    public enum Kind: String, Sendable {
        /// The asset was added.
        case inserted
        /// Its record was changed, as by an adjustment, which also raises its generation.
        case changed
        /// Its original was moved, was lost, or was found again.
        case moved
        /// The asset was removed.
        case removed
        /// Any asset may have changed in any way: the journal no longer has the changes, or the catalogue was replaced.
        case everything
    }

    /// The number of the change, from 1; changes are numbered in the order of their commits.
    public let number: Int64
    /// The kind of the change.
    public let kind: Kind
    /// The identifier of the asset; nil for ``Kind/everything``.
    public let assetID: UUID?
    /// The generation of the asset after the change; nil for ``Kind/everything``.
    public let generation: Int64?
}
