package import BlobCore
import BlobPlatform

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
}

extension CachedIndex {
    /// Returns the index files in the folder of a policy, the most recently used first; none when there is no folder.
    ///
    /// - Throws: Errors of opening and reading the folder.
    package static func all(in policy: BlobIndexPolicy) throws(BlobError) -> [CachedIndex] {
        guard let folder = IndexFolder(policy), let open = try folder.open() else { return [] }
        let files = open.indexFiles().sorted {
            ($0.lastUse.tv_sec, $0.lastUse.tv_nsec) > ($1.lastUse.tv_sec, $1.lastUse.tv_nsec)
        }
        return files.map { file in
            CachedIndex(
                path: "\(folder.path)/\(file.name)", origin: (try? open.file(file.name))?.origin,
                byteCount: file.byteCount, lastUse: Int64(file.lastUse.tv_sec))
        }
    }

    /// Removes all index files in the folder of a policy, and returns the paths of the removed files.
    ///
    /// - Throws: Errors of opening the folder, and of removing a file; the files before it are removed then.
    package static func removeAll(in policy: BlobIndexPolicy) throws(BlobError) -> [String] {
        guard let folder = IndexFolder(policy), let open = try folder.open() else { return [] }
        var paths: [String] = []
        for file in open.indexFiles() where try open.remove(file.name) { paths.append("\(folder.path)/\(file.name)") }
        return paths.sorted()
    }
}

extension IndexDescriptor {
    /// The origin of an index file; nil when the file is damaged, or of another version.
    fileprivate var origin: String? {
        guard (try? self.read(at: 0, count: IndexTable.headByteCount)) == IndexTable.head else { return nil }
        return try? IndexFile.table(of: self).origin
    }
}
