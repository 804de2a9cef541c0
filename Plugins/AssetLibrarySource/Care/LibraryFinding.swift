import BlobCore

/// A difference between the parts of a library, found by a check.
package struct LibraryFinding: Hashable, Sendable {
    package enum Kind: String, Sendable {
        /// The catalogue is lost or damaged.
        case catalogue
        /// The journal and the catalogue differ.
        case journal
        /// An original is not in its place, or is marked so and is there.
        case missing
        /// An original has another length.
        case size
        /// An original has other bytes.
        case content
        /// An original has no digests of its blocks, which is no damage: its first reader computes them.
        case digests
        /// A file that no row names.
        case orphan
        /// A file or marker of an import or a removal that was interrupted.
        case leftover
    }

    package let kind: Kind
    /// The URL of the asset, or the path of the file in the library.
    package let subject: String
    package var detail: String
    /// True for an original that was read, and has not the bytes that were imported.
    var hasOtherBytes = false
    /// True when the repair is complete.
    package var isRepaired = false
}
