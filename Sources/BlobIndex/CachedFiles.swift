package import BlobCore
import BlobPlatform

/// Files of one kind in a folder of the user's caches, with a limit of their total size.
///
/// They belong to this user alone, appear under their names when they are complete, and the least recently used ones
/// are removed first.
package struct CachedFiles: Sendable {
    private let folder: IndexFolder

    /// - Parameters:
    ///   - folder: The name of the folder in the user's cache folder.
    ///   - fileExtension: The extension of the files.
    ///   - maximumByteCount: The limit of their total size.
    /// - Returns: Nil when the user has no cache folder.
    package init?(in folder: String, fileExtension: String, maximumByteCount: Int64) {
        guard let caches = userCacheFolder(environmentVariable) else { return nil }
        self.folder = IndexFolder(
            path: "\(caches.path)/\(folder)", maximumByteCount: maximumByteCount, root: caches.root,
            fileExtension: fileExtension)
    }

    /// The path of the user's cache folder; nil when the user has none.
    package static var userFolder: String? { userCacheFolder(environmentVariable)?.path }

    /// Returns the content of a file; nil when there is none, or it has more bytes than `maximumByteCount`.
    ///
    /// - Throws: Errors of the disk or of the process.
    package func content(of name: String, atMost maximumByteCount: Int64) throws(BlobError) -> [UInt8]? {
        guard let file = try self.folder.open()?.file(name), file.byteCount <= maximumByteCount else { return nil }
        file.markUsed()
        return try file.read(at: 0, count: Int(file.byteCount))
    }

    /// Stores a file, which replaces another one of its name.
    ///
    /// - Throws: Errors of writing.
    package func store(_ bytes: UnsafeRawBufferPointer, as name: String) throws(BlobError) {
        let folder = try self.folder.create()
        let file = try folder.newFile(name)
        try file.write(bytes)
        try file.commit()
        // Now and then, because it looks at every file: the limit is passed by a few dozen of them at most.
        if UInt8.random(in: 0..<32) == 0 { folder.evict(keeping: name) }
    }
}
