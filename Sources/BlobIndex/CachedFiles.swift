package import BlobCore
import BlobPlatform

/// Files of one kind in a folder of the user's caches, with a limit on their total size.
///
/// The files belong to this user alone and appear under their names when they are complete. The least recently used
/// files are removed first.
package struct CachedFiles: Sendable {
    private let folder: IndexFolder

    /// Creates access to the files of a folder.
    ///
    /// - Parameters:
    ///   - folder: The name of the folder in the user's cache folder.
    ///   - fileExtension: The extension of the files.
    ///   - maximumByteCount: The limit on the total size of the files.
    /// - Returns: Nil if the user has no cache folder.
    package init?(in folder: String, fileExtension: String, maximumByteCount: Int64) {
        guard let caches = UserCacheFolder() else { return nil }
        self.folder = IndexFolder(
            path: "\(caches.path)/\(folder)", maximumByteCount: maximumByteCount, root: caches.root,
            fileExtension: fileExtension)
    }

    /// Returns the content of a file; nil if the file is missing or longer than `maximumByteCount`.
    ///
    /// - Throws: Errors of the disk and of the process, such as too many open files.
    package func content(of name: String, atMost maximumByteCount: Int64) throws(BlobError) -> [UInt8]? {
        guard let file = try self.folder.open()?.file(name), file.byteCount <= maximumByteCount else { return nil }
        file.markUsed()
        return try file.read(at: 0, count: Int(file.byteCount))
    }

    /// Stores a file, replacing any file of the same name.
    ///
    /// - Throws: Errors of writing.
    package func store(_ bytes: UnsafeRawBufferPointer, as name: String) throws(BlobError) {
        let folder = try self.folder.create()
        let file = try folder.newFile(name)
        try file.write(bytes)
        try file.commit()
        // Only occasionally, because eviction examines every file; at most a few dozen files exceed the limit.
        if UInt8.random(in: 0..<32) == 0 { folder.evict(keeping: name) }
    }
}

/// A file in the folder of indexes.
package struct CachedIndex: Sendable {
    /// The path of the file.
    package let path: String
    /// The locator of the origin, without a password; nil if the file is damaged or has another version.
    package let origin: String?
    /// The length of the file in bytes.
    package let byteCount: Int64
    /// The time of the last use in seconds since 1970, accurate to an hour.
    package let lastUse: Int64

    /// Returns the index files in the folder of a policy, the most recently used first; empty without a folder.
    ///
    /// - Throws: Errors of opening and reading the folder.
    package static func all(in policy: BlobIndexPolicy) throws(BlobError) -> [CachedIndex] {
        guard let folder = IndexFolder.folder(for: policy), let open = try folder.open() else { return [] }
        return open.indexFiles().reversed().map { file in
            CachedIndex(
                path: "\(folder.path)/\(file.name)", origin: (try? open.file(file.name))?.origin,
                byteCount: file.status.byteCount, lastUse: file.status.lastUse / 1_000_000_000)
        }
    }

    /// Removes all index files in the folder of a policy, and returns the paths of the removed files.
    ///
    /// - Throws: Errors of opening the folder, and of removing a file; the files before it are then already removed.
    package static func removeAll(in policy: BlobIndexPolicy) throws(BlobError) -> [String] {
        guard let folder = IndexFolder.folder(for: policy), let open = try folder.open() else { return [] }
        var paths: [String] = []
        for file in open.indexFiles() where try open.remove(file.name) { paths.append("\(folder.path)/\(file.name)") }
        return paths.sorted()
    }
}

extension IndexDescriptor {
    /// The origin of an index file; nil if the file is damaged or has another version.
    fileprivate var origin: String? {
        guard (try? self.read(at: 0, count: IndexTable.headByteCount)) == IndexTable.head else { return nil }
        return try? IndexTable(of: self).origin
    }
}
