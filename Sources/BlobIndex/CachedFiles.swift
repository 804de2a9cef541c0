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
        guard let caches = UserCacheFolder() else { return nil }
        self.folder = IndexFolder(
            path: "\(caches.path)/\(folder)", maximumByteCount: maximumByteCount, root: caches.root,
            fileExtension: fileExtension)
    }

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

/// A file in the folder of indexes.
package struct CachedIndex: Sendable {
    /// The path of the file.
    package let path: String
    /// The locator of the origin, without a password; nil when the file is damaged, or of another version.
    package let origin: String?
    /// The length of the file in bytes.
    package let byteCount: Int64
    /// The time of the last use in seconds since 1970, within an hour.
    package let lastUse: Int64

    /// Returns the index files in the folder of a policy, the most recently used first; none when there is no folder.
    ///
    /// - Throws: Errors of opening and reading the folder.
    package static func all(in policy: BlobIndexPolicy) throws(BlobError) -> [CachedIndex] {
        guard let folder = IndexFolder.of(policy), let open = try folder.open() else { return [] }
        return open.indexFiles().reversed().map { file in
            CachedIndex(
                path: "\(folder.path)/\(file.name)", origin: (try? open.file(file.name))?.origin,
                byteCount: file.status.byteCount, lastUse: file.status.lastUse / 1_000_000_000)
        }
    }

    /// Removes all index files in the folder of a policy, and returns the paths of the removed files.
    ///
    /// - Throws: Errors of opening the folder, and of removing a file; the files before it are removed then.
    package static func removeAll(in policy: BlobIndexPolicy) throws(BlobError) -> [String] {
        guard let folder = IndexFolder.of(policy), let open = try folder.open() else { return [] }
        var paths: [String] = []
        for file in open.indexFiles() where try open.remove(file.name) { paths.append("\(folder.path)/\(file.name)") }
        return paths.sorted()
    }
}

extension IndexDescriptor {
    /// The origin of an index file; nil when the file is damaged, or of another version.
    fileprivate var origin: String? {
        guard (try? self.read(at: 0, count: IndexTable.headByteCount)) == IndexTable.head else { return nil }
        return try? IndexTable(of: self).origin
    }
}
