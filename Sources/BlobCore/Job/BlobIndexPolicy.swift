/// The place where indexes are kept.
///
/// An index records what a source learned of its content while reading, so that the next reading finds any byte of a
/// gzip, or any member of an archive, at once.
///
/// An index is a cache. It is used only for the content from which it was made, and only when it belongs to this user;
/// a stale, damaged or missing index costs time and never gives wrong bytes. <doc:IndexFiles> explains what reading
/// with an index verifies, and specifies the format of the files.
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
    /// The folder is `blob-indexes` in `$XDG_CACHE_HOME` or `~/.cache`, on Apple's systems in `~/Library/Caches`; a
    /// missing home folder is not created. Only for sources that have a locator.
    public static let automatic = Self(place: .automatic)

    /// A folder, which is created for this user alone when it is missing.
    ///
    /// A folder that is a link, belongs to another user or is writable by others is not used. Only for sources that
    /// have a locator.
    ///
    /// - Parameters:
    ///   - path: The path of the folder.
    ///   - maximumByteCount: The maximum size of all index files in the folder together, in bytes: the least recently
    ///     used are removed first.
    public static func folder(_ path: String, maximumByteCount: Int64) -> Self {
        Self(place: .folder(path, maximumByteCount: maximumByteCount))
    }

    /// A file, whatever the locator of the content is.
    ///
    /// Reading creates the file when it is missing, and otherwise leaves it unchanged. ``BlobIndexing/buildIndex(_:)``
    /// replaces a stale or damaged index; a file that is not an index of this user is not overwritten, and the error is
    /// ``BlobError/Code/inconsistent``.
    public static func file(_ path: String) -> Self { Self(place: .file(path)) }

    /// The number of bytes of index files that ``automatic`` keeps: 1 GiB.
    package static let automaticMaximumByteCount: Int64 = 1 << 30
}
