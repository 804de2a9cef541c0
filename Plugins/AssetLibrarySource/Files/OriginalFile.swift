#if Photos
import BlobCore
import BlobPlatform
import CryptoDigest
import Foundation

/// An original that is open for reading, which owns its descriptor.
final class OriginalFile {
    /// The status of the file when its bytes were last known to be correct.
    private(set) var snapshot: FileStatus
    let path: String
    private let file: Descriptor

    /// The descriptor for system calls and for other processes.
    var descriptor: CInt { self.file.rawValue }

    /// Opens the regular file at `path`, which must not be a link.
    convenience init(_ path: String) throws(BlobError) { try self.init(path: Array(path.utf8)) }

    /// Opens the regular file at a path given as bytes, which must not be a link.
    convenience init(path bytes: [UInt8]) throws(BlobError) {
        let path = String(decoding: bytes, as: UTF8.self)
        let flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK
        try self.init(Descriptor(bytes.cString, flags, doing: "Could not open the original \(path)"), path)
    }

    /// Takes ownership of an open file.
    init(_ file: Descriptor, _ path: String) throws(BlobError) {
        (self.file, self.path) = (file, path)
        self.snapshot = try file.status(named: path)
        guard self.snapshot.isRegular else {
            throw BlobError(.unsupported, "The original \(path) is not a regular file.")
        }
    }

    func close() { self.file.close() }

    /// Returns the current status of the file.
    func status() throws(BlobError) -> FileStatus { try self.file.status(named: self.path) }

    /// Accepts the current status of the file as correct, unless the file's content was modified.
    ///
    /// - Returns: False if the content was modified.
    func acceptStatus() throws(BlobError) -> Bool {
        let now = try self.status()
        guard now.hasContent(of: self.snapshot) else { return false }
        self.snapshot = now
        return true
    }

    /// Calls `pread(2)`, repeated after interruptions; returns the number of bytes read, 0 at the end.
    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64) throws(BlobError) -> Int {
        try self.file.read(into: buffer, at: byteOffset, named: self.path)
    }

    /// Fills a buffer, or reads to the end of the file; returns the number of bytes read.
    func fill(_ buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64) throws(BlobError) -> Int {
        try self.file.fill(buffer, at: byteOffset, named: self.path)
    }

    /// Returns the first bytes of the file, at most `count`.
    func prefix(_ count: Int) throws(BlobError) -> [UInt8] { try self.file.bytes(count: count, named: self.path) }

    /// Fills buffers one after the other, and returns the SHA-256 of their bytes; nil if the file ends early.
    func readAndHash(
        into buffers: UnsafeMutableRawBufferPointer..., at byteOffset: Int64
    ) throws(BlobError) -> [UInt8]? {
        var hasher = CryptoDigest.sha256.makeHasher()
        var offset = byteOffset
        for buffer in buffers {
            var rest = buffer
            while !rest.isEmpty {
                // Hashes parts that are still in the innermost caches.
                let part = UnsafeMutableRawBufferPointer(rebasing: rest.prefix(Self.partByteCount))
                let count = try self.read(into: part, at: offset)
                guard count > 0 else { return nil }
                hasher.update(UnsafeRawBufferPointer(rebasing: part[..<count]))
                rest = UnsafeMutableRawBufferPointer(rebasing: rest[count...])
                offset += Int64(count)
            }
        }
        return hasher.finalize()
    }

    private static let partByteCount = 64 * 1024

    /// Reads the whole file, and returns its digests.
    ///
    /// - Throws: ``BlobError/Code/changed`` if the file was modified during the read; errors while reading.
    func digests(
        byteCount: Int64, _ context: BlobContext
    ) throws(BlobError) -> (sha256: [UInt8], blocks: BlockDigests) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.partByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var hasher = BlockHasher()
        var offset: Int64 = 0
        while offset < byteCount {
            try context.check()
            let room = UnsafeMutableRawBufferPointer(
                rebasing: buffer.prefix(Int(min(Int64(buffer.count), byteCount - offset))))
            let count = try self.read(into: room, at: offset)
            guard count > 0 else { break }
            hasher.update(UnsafeRawBufferPointer(rebasing: room[..<count]))
            offset += Int64(count)
        }
        guard offset == byteCount, try self.status().hasContent(of: self.snapshot) else {
            throw BlobError(.changed, "The original was modified while it was being read.")
        }
        return hasher.finalize()
    }

    /// Returns true if the bytes of the file match these digests, and the file was not touched during the read.
    ///
    /// Reads the file up to the first block that differs.
    func hasContent(of asset: Asset, _ blocks: BlockDigests, _ context: BlobContext) throws(BlobError) -> Bool {
        guard self.snapshot.byteCount == asset.byteCount else { return false }
        let buffer = UnsafeMutableRawBufferPointer.allocate(
            byteCount: Int(min(asset.byteCount, Int64(BlockDigests.blockByteCount))), alignment: 4096)
        defer { buffer.deallocate() }
        var number = 0
        while case let block = asset.block(number), !block.isEmpty {
            try context.check()
            let part = UnsafeMutableRawBufferPointer(rebasing: buffer[..<block.count])
            guard let found = try self.readAndHash(into: part, at: block.lowerBound),
                found.elementsEqual(blocks[number])
            else {
                return false
            }
            number += 1
        }
        return try self.status() == self.snapshot
    }
}
#endif
