import BlobCore
import BlobPlatform
import CZstd

/// A decoder of one or more whole Zstandard frames, by libzstd, which verifies their checksums.
final class ZstdDecoder: BlockDecoder {
    private let context: OpaquePointer
    /// True between two frames.
    private var isBetweenFrames = true

    /// - Parameter windowLog: The base-2 logarithm of the largest window in bytes; 27 is that of 128 MiB.
    init(windowLog: Int = 27) throws(BlobError) {
        guard let context = blob_ZSTD_createDCtx() else {
            throw BlobError(.io, "There is no memory to decode a frame.", isTransient: true)
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
            throw BlobError(.limitExceeded, "A frame of the Zstandard data has a window that exceeds the memory limit.")
        }
        guard !isDamaged else { throw BlobError(.corrupted, "A frame of the Zstandard data is damaged.") }
        return self.isBetweenFrames && input.isEmpty
    }
}
