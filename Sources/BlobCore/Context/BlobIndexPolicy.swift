/// The place where indexes are kept: what a source learned of its content while it read, so that the next one finds any
/// byte of a gzip, or any member of an archive, at once.
///
/// An index is a cache. It is used only for the content that it was made from, and only when it belongs to this user; one
/// that is stale, damaged or gone costs time and never gives wrong bytes. <doc:IndexFiles> says what reading with it
/// proves, and describes the format of the files.
public struct BlobIndexPolicy: Hashable, Sendable {
    package enum Place: Hashable, Sendable {
        case none, automatic
        case folder(String, maximumByteCount: Int64)
        case file(String)
    }

    package let place: Place

    /// No index is read or written.
    public static let none = Self(place: .none)

    /// The user's cache folder, with at most 1 GiB of index files; failures to write there are ignored.
    ///
    /// That is `blob-indexes` in `$XDG_CACHE_HOME` or `~/.cache`, on Apple's systems in `~/Library/Caches`; a missing home
    /// folder is not made. Only for sources that have a locator.
    public static let automatic = Self(place: .automatic)

    /// A folder, which is made when it is missing, for this user alone.
    ///
    /// A folder that is a link, belongs to another user or may be written to by others is not used. Only for sources that
    /// have a locator.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - maximumByteCount: The bound of all index files in it together, in bytes: those that were not used for longest
    ///     are removed first.
    public static func folder(_ path: String, maximumByteCount: Int64) -> Self {
        Self(place: .folder(path, maximumByteCount: maximumByteCount))
    }

    /// A file, whatever the locator of the content is.
    ///
    /// Reading makes the file when it is missing, and leaves it as it is otherwise. ``BlobIndexing/buildIndex(_:)``
    /// replaces an index that is stale or damaged; a file that is not an index of this user is not overwritten:
    /// ``BlobError/Code/inconsistent``.
    public static func file(_ path: String) -> Self { Self(place: .file(path)) }

    /// The number of bytes of index files that ``automatic`` keeps: 1 GiB.
    package static let automaticMaximumByteCount: Int64 = 1 << 30
}
