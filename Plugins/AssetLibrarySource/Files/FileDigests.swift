import BlobCore
import BlobIndex
import Foundation

/// The digests of files that belong to others, which are kept under the status of the file: in memory, and in the
/// user's cache folder.
enum FileDigests {
    typealias Digests = (sha256: [UInt8], blocks: BlockDigests)

    /// The limit of all files in the cache in bytes, where 1 MiB is the digests of 8 GiB of originals.
    private static let cacheByteCount: Int64 = 64 << 20
    /// The number of bytes at which the digests in memory are discarded.
    private static let memoryByteCount = 16 << 20
    /// The number of bytes of an entry beside the digests of its blocks, about.
    private static let entryByteCount = 256
    /// The least age of a file's last change for digests that other processes may use: a later change could have the
    /// same time.
    private static let settlingTime: Int64 = 100_000_000
    /// The same age on a file system whose times are coarse.
    private static let coarseSettlingTime: Int64 = 3_000_000_000

    private static let memory = Locked<(digests: [String: Digests], byteCount: Int)>(([:], 0))

    private static var cache: CachedFiles? {
        CachedFiles(in: "blob-digests", fileExtension: "sha256", maximumByteCount: self.cacheByteCount)
    }

    /// Returns the digests of an open file; reads it once, whole, unless they are kept.
    ///
    /// - Throws: ``BlobError/Code/changed`` when the file was written to during the read, and errors of reading.
    static func digests(of file: OriginalFile, _ context: BlobContext) throws(BlobError) -> Digests {
        let status = file.snapshot
        let now = Date().nanoseconds
        if let known = self.known(file.path, status) { return known }
        let found = try file.digests(byteCount: status.byteCount, context)
        let key = self.key(file.path, status)
        self.remember(found, key)
        if self.isSettled(status, at: now) {
            let bytes = found.sha256 + found.blocks.stored(sha256: found.sha256)
            // A cache that cannot be written is no reason not to read.
            bytes.withUnsafeBytes { bytes in try? self.cache?.store(bytes, as: "\(key).sha256") }
        }
        return found
    }

    /// Returns the digests that are kept of a file with this status; nil when there are none.
    static func known(_ path: String, _ status: FileSnapshot) -> Digests? {
        let key = self.key(path, status)
        if let known = self.memory.withLock({ $0.digests[key] }) { return known }
        guard let bytes = try? self.cache?.content(of: "\(key).sha256", atMost: self.cacheByteCount), bytes.count >= 32
        else { return nil }
        let sha256 = Array(bytes[..<32])
        let blocks = BlockDigests(stored: Array(bytes[32...]), byteCount: status.byteCount, sha256: sha256)
        guard let blocks else { return nil }
        self.remember((sha256, blocks), key)
        return (sha256, blocks)
    }

    private static func isSettled(_ status: FileSnapshot, at now: Int64) -> Bool {
        // Times without fractions are those of file systems such as FAT, whose steps are two seconds.
        let isCoarse = [status.change, status.modification].contains { $0 % 1_000_000_000 == 0 }
        return status.change < now - (isCoarse ? self.coarseSettlingTime : self.settlingTime)
    }

    private static func remember(_ digests: Digests, _ key: String) {
        self.memory.withLock { kept in
            if kept.byteCount >= self.memoryByteCount { kept = ([:], 0) }
            kept.digests[key] = digests
            kept.byteCount += digests.blocks.byteCount + Self.entryByteCount
        }
    }

    private static func key(_ path: String, _ status: FileSnapshot) -> String {
        let numbers: [Any] = [
            status.device, status.inode, status.byteCount, status.modification,
            status.change,
        ]
        return Array("\(numbers) \(path)".utf8).sha256.hexadecimal
    }
}
