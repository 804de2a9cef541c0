/// Where indexes are kept: what a source learned of its content while it read, so that the next one finds any byte of a
/// gzip, or any member of an archive, at once.
///
/// An index is a cache. It is used only for the content that it was made from, and only when it belongs to this user; one
/// that is stale, damaged or gone costs time and never gives wrong bytes. <doc:IndexFiles> says what reading with it
/// proves, and describes the format of the files.
public enum BlobIndexPolicy: Hashable, Sendable {
    /// No index is read or written.
    case none

    /// In the user's cache folder, at most ``automaticMaximumByteCount`` bytes; failures to write there are ignored.
    ///
    /// That is `blob-indexes` in `$XDG_CACHE_HOME` or `~/.cache`, on Apple's systems in `~/Library/Caches`; a home that is
    /// missing is not made. Only for what has a locator.
    case automatic

    /// In this folder, which is made when it is missing, for this user alone. One that is a link, belongs to another user
    /// or may be written to by others is not used.
    ///
    /// `maximumByteCount` bounds all index files there together: those that were not used for longest go first. Only for
    /// what has a locator.
    case folder(String, maximumByteCount: Int64)

    /// In this file, whatever the locator of the content is.
    ///
    /// Reading makes the file when it is missing, and leaves it as it is otherwise. ``BlobIndexing/buildIndex(_:)``
    /// replaces an index that is stale or damaged; a file that is no index of this user's is not overwritten:
    /// ``BlobError/Code/inconsistent``.
    case file(String)

    /// How many bytes of index files ``automatic`` keeps: 1 GiB.
    public static let automaticMaximumByteCount: Int64 = 1 << 30
}
