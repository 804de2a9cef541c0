package import BlobCore
import BlobIndex
import BlobPlatform
import CZstd

/// A decoder of one or more whole Zstandard frames that uses libzstd, which verifies the checksums.
final class ZstdDecoder: BlockDecoder {
    private let context: OpaquePointer
    /// True between two frames.
    private var isBetweenFrames = true

    /// Creates a decoder.
    ///
    /// - Parameter windowLog: The base-2 logarithm of the largest window in bytes; 27 means 128 MiB.
    init(windowLog: Int = 27) throws(BlobError) {
        guard let context = blob_ZSTD_createDCtx() else {
            throw BlobError(.io, "Not enough memory to decode a frame.", isTransient: true)
        }
        self.context = context
        _ = blob_ZSTD_DCtx_setParameter(context, ZSTD_d_windowLogMax, CInt(windowLog))
    }

    deinit { _ = blob_ZSTD_freeDCtx(self.context) }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        var (isDamaged, isTooLarge) = (false, false)
        output.withUnsafeMutableBytes { buffer, count in
            var source = ZSTD_inBuffer(src: input.baseAddress, size: input.count, pos: 0)
            var target = ZSTD_outBuffer(dst: buffer.baseAddress, size: buffer.count, pos: count)
            repeat {
                let status = blob_ZSTD_decompressStream(self.context, &target, &source)
                isDamaged = blob_ZSTD_isError(status) != 0
                // ZSTD_error_frameParameter_windowTooLarge of zstd_errors.h, which is stable.
                isTooLarge = 0 &- status == 16
                self.isBetweenFrames = status == 0
            } while !isDamaged && self.isBetweenFrames && source.pos < source.size
            count = target.pos
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(source.pos))
        }
        guard !isTooLarge else {
            throw BlobError(
                .limitExceeded, "A frame of the Zstandard data has a window that exceeds the memory limit.",
                remedy: .memoryLimit)
        }
        guard !isDamaged else { throw BlobError(.corrupted, "A frame of the Zstandard data is damaged.") }
        return self.isBetweenFrames && input.isEmpty
    }
}

/// A decoder that also compares a checksum stored separately from the block.
final class ChecksumDecoder: BlockDecoder {
    /// The cause of a mismatch: a decoder of the block alone would not notice it.
    struct Mismatch: Error, CustomStringConvertible {
        var description: String { "The frame has no checksum of its own." }
    }

    private let base: any BlockDecoder
    private let expected: UInt32
    private var sum = XXH64()

    init(_ base: any BlockDecoder, expected: UInt32) { (self.base, self.expected) = (base, expected) }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        let start = output.byteCount
        let isAtEnd = try self.base.decode(&input, into: &output)
        output.bytes.withUnsafeBytes { self.sum.update(UnsafeRawBufferPointer(rebasing: $0[start...])) }
        guard !isAtEnd || UInt32(truncatingIfNeeded: self.sum.value) == self.expected else {
            throw BlobError(
                .checksumMismatch, "The checksum of a frame differs from the one in the seek table.", cause: Mismatch())
        }
        return isAtEnd
    }
}

/// A decoder of consecutive Zstandard frames with windows that libarchive rejects, up to 2 GiB.
package final class ZstdStream {
    /// The base-2 logarithms of the smallest and the largest window limit of libzstd.
    private static let windowLogs = 10...31

    private let decoder: ZstdDecoder
    /// True if the input so far consists of whole frames.
    package private(set) var isBetweenFrames = true

    /// Creates a decoder for the memory limit of a context.
    ///
    /// - Returns: Nil if libzstd cannot be loaded.
    /// - Throws: ``BlobError/Code/io`` if out of memory.
    package init?(_ context: BlobContext) throws(BlobError) {
        guard BlockFormat.zstd != nil else { return nil }
        let log = Int64.bitWidth - 1 - max(context.memoryLimit, 1).leadingZeroBitCount
        self.decoder = try ZstdDecoder(windowLog: min(max(log, Self.windowLogs.lowerBound), Self.windowLogs.upperBound))
    }

    /// Decodes until `input` is consumed or `output` is full.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` if data other than a frame follows a whole frame; the errors of
    ///   ``BlockDecoder``.
    package func decode(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) {
        let wasBetweenFrames = self.isBetweenFrames
        do throws(BlobError) {
            self.isBetweenFrames = try self.decoder.decode(&input, into: &output)
        } catch {
            guard wasBetweenFrames, error.code == .corrupted else { throw error }
            throw BlobError(.trailingData, "Unexpected data after the end of the zstd stream.")
        }
    }
}

extension BlockFormat {
    /// The frames of Zstandard, decoded by libzstd; nil if libzstd cannot be loaded.
    static let zstd: BlockFormat? = {
        guard blob_zstd_load() == nil else { return nil }
        return BlockFormat(
            prefersStreaming: false, table: { try BlockTable.zstd($0) }, scan: { try ZstdFinder($0, $1) }
        ) { bytes, table, index, context in
            let (detail, byteCount) = (table.points[index].detail, table.byteCount(of: index))
            let frame = ZstdFrame(bytes[...])
            try context.checkMemory(frame?.windowByteCount ?? 0, for: "A frame of the Zstandard data")
            let hasChecksum = frame?.hasChecksum == true
            // The table is a hint, unless only it has a checksum.
            let expected = detail >> 32 == 1 && !hasChecksum ? UInt32(truncatingIfNeeded: detail) : nil
            let isChecked = hasChecksum || expected != nil
            return Block(
                bytes: bytes, byteCount: byteCount, check: isChecked ? ZstdFrame.checksumName : nil,
                memoryByteCount: bytes.count + 2 * Int(byteCount)
            ) { () throws(BlobError) in
                let decoder = try ZstdDecoder()
                return if let expected { ChecksumDecoder(decoder, expected: expected) } else { decoder }
            }
        }
    }()
}
