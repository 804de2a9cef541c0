import BlobCore
import BlobIndex

/// A finder that reads Zstandard frames one after another; the header of each must state its decoded length.
final class ZstdFinder: BlockFinder {
    /// The maximum size of a decoded frame that is treated as a block, in bytes: 32 MiB.
    static let maximumByteCount: UInt64 = 32 << 20
    /// The largest length of a block within a frame, as decoded (RFC 8878, section 3.1.1.2).
    private static let maximumBlockByteCount = 128 * 1024

    private let scan: BlockScan
    private let maximumWindowByteCount: UInt64
    private var input: FinderInput
    private(set) var byteOffset: Int64

    /// Creates a finder.
    ///
    /// - Returns: Nil if the first frame is not treated as a block, because its length is unknown or too large, or
    ///   because it is the only frame.
    init?(_ base: BlockBase, _ scan: BlockScan) throws {
        self.scan = scan
        self.maximumWindowByteCount = min(
            ZstdFrame.maximumWindowByteCount, UInt64(max(base.context.memoryLimit, 0)))
        self.input = try FinderInput(base, at: scan.start.compressedByteOffset)
        self.byteOffset = scan.start.byteOffset
        do {
            // Empty data has no frame.
            guard let first = try self.frame() else {
                if base.byteCount == 0 { throw self.unsuitableDataError }
                return
            }
            if scan.start.bitOffset == 0, first.isBlock, Int64(first.compressedByteCount) == base.byteCount {
                throw self.unsuitableDataError
            }
            try self.skip(to: scan.byteOffset)
        } catch let error as BlobError where [.corrupted, .unsupported].contains(error.code) {
            self.close()
            return nil
        }
    }

    /// Skips the frames that end at or before a decoded byte.
    private func skip(to byteOffset: Int64) throws {
        while let frame = try self.frame(), self.byteOffset + Int64(frame.byteCount) <= byteOffset {
            self.take(frame)
            self.scan.onRestartPoint(RestartPoint(bitOffset: self.input.byteOffset * 8, byteOffset: self.byteOffset))
        }
    }

    private func take(_ frame: Frame) {
        self.input.drop(frame.compressedByteCount)
        self.byteOffset += Int64(frame.byteCount)
    }

    func next() throws -> Block? {
        while let frame = try self.frame() {
            let bytes = Array(self.input.bytes[..<frame.compressedByteCount])
            self.take(frame)
            guard frame.isBlock else { continue }
            let memory = frame.compressedByteCount + Int(frame.byteCount + frame.windowByteCount)
            return Block(
                bytes: bytes, byteCount: Int64(frame.byteCount),
                check: frame.hasChecksum ? ZstdFrame.checksumName : nil,
                nextPoint: RestartPoint(bitOffset: self.input.byteOffset * 8, byteOffset: 0), memoryByteCount: memory
            ) { () throws(BlobError) in try ZstdDecoder() }
        }
        return nil
    }

    func close() { self.input.base.close() }

    private struct Frame {
        var compressedByteCount: Int
        var byteCount: UInt64 = 0
        var windowByteCount: UInt64 = 0
        var isBlock = false
        var hasChecksum = false
    }

    /// Reads the next frame as a whole; returns nil at the end.
    private func frame() throws -> Frame? {
        _ = try self.input.fill(ZstdFrame.maximumHeaderByteCount)
        guard !self.input.bytes.isEmpty else { return nil }
        if let byteCount = ZstdFrame.skippableByteCount(self.input.bytes[...]) {
            guard byteCount <= Self.maximumByteCount else { throw self.unsuitableDataError }
            return try self.whole(Frame(compressedByteCount: Int(byteCount)))
        }
        guard let header = ZstdFrame(self.input.bytes[...]), !header.hasDictionary else {
            throw BlobError(.corrupted, "Expected a frame without a dictionary.", byteOffset: self.input.byteOffset)
        }
        guard let byteCount = header.byteCount, byteCount <= Self.maximumByteCount,
            header.windowByteCount <= self.maximumWindowByteCount
        else { throw self.unsuitableDataError }
        var end = header.headerByteCount
        var isLast = false
        while !isLast {
            guard try self.input.fill(end + 3) else { throw self.unsuitableDataError }
            let block = self.input.bytes[end..<(end + 3)].littleEndian
            let (kind, blockByteCount) = (block >> 1 & 3, Int(block >> 3))
            isLast = block & 1 == 1
            guard kind < 3, blockByteCount <= Self.maximumBlockByteCount || kind == 1 else {
                throw self.unsuitableDataError
            }
            end += 3 + (kind == 1 ? 1 : blockByteCount)
            // A frame of many empty blocks is not treated as a block.
            guard end <= 2 * Int(Self.maximumByteCount) else { throw self.unsuitableDataError }
        }
        return try self.whole(
            Frame(
                compressedByteCount: end + (header.hasChecksum ? 4 : 0), byteCount: byteCount,
                windowByteCount: header.windowByteCount, isBlock: true, hasChecksum: header.hasChecksum))
    }

    private func whole(_ frame: Frame) throws -> Frame {
        guard try self.input.fill(frame.compressedByteCount) else { throw self.unsuitableDataError }
        return frame
    }

    private var unsuitableDataError: BlobError {
        BlobError(.unsupported, "The frame cannot be decoded as a block.", byteOffset: self.input.byteOffset)
    }
}
