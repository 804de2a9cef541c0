import BlobCore
import CBzip2

/// A decoder of a bzip2 stream that uses libbz2, which verifies the checksums.
final class BzipDecoder: BlockDecoder {
    // On the heap: libbz2 keeps a pointer to it.
    private let stream = UnsafeMutablePointer<bz_stream>.allocate(capacity: 1)

    init() throws(BlobError) {
        self.stream.initialize(to: bz_stream())
        guard blob_BZ2_bzDecompressInit(self.stream, 0, 0) == BZ_OK else {
            throw BlobError(.io, "Not enough memory to decode a block.", isTransient: true)
        }
    }

    deinit {
        _ = blob_BZ2_bzDecompressEnd(self.stream)
        self.stream.deallocate()
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        var status = BZ_OK
        output.withUnsafeMutableBytes { buffer, count in
            let lent = UnsafeMutableRawPointer(mutating: input.baseAddress)
            self.stream.pointee.next_in = lent?.assumingMemoryBound(to: CChar.self)
            self.stream.pointee.avail_in = UInt32(clamping: input.count)
            let room = UInt32(clamping: buffer.count - count)
            self.stream.pointee.next_out = buffer.baseAddress.map { ($0 + count).assumingMemoryBound(to: CChar.self) }
            self.stream.pointee.avail_out = room
            let given = self.stream.pointee.avail_in
            status = blob_BZ2_bzDecompress(self.stream)
            count += Int(room - self.stream.pointee.avail_out)
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(Int(given - self.stream.pointee.avail_in)))
            (self.stream.pointee.next_in, self.stream.pointee.next_out) = (nil, nil)
        }
        switch status {
        case BZ_OK: return false
        case BZ_STREAM_END: return true
        case BZ_MEM_ERROR: throw BlobError(.io, "Not enough memory to decode a block.", isTransient: true)
        default: throw BlobError(.corrupted, "A block of the bzip2 data is damaged.")
        }
    }
}

extension BlockFormat {
    /// The blocks of bzip2, decoded by libbz2; nil if libbz2 cannot be loaded.
    static let bzip2: BlockFormat? = {
        guard blob_bzip2_load() == nil else { return nil }
        return BlockFormat(prefersStreaming: false, table: { _ in nil }, scan: { try BzipFinder($0, $1) }) {
            _, _, _, _ in
            preconditionFailure("A bzip2 file has no table.")
        }
    }()
}
