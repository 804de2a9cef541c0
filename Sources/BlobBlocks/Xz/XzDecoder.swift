import BlobCore
import BlobPlatform
import CLzma

/// A decoder of one block of an xz, by liblzma.
final class XzDecoder: BlockDecoder {
    /// The largest window of a block, in bytes, if the job allows as much memory: 128 MiB, because there may be one for
    /// each thread.
    static let maximumWindowByteCount = 128 << 20

    /// The identifier of LZMA2 (The .xz File Format, 5.3.1).
    private static let lzma2: UInt64 = 0x21

    // On the heap: liblzma keeps pointers to these.
    private let stream = UnsafeMutablePointer<lzma_stream>.allocate(capacity: 1)
    private let block = UnsafeMutablePointer<lzma_block>.allocate(capacity: 1)
    private let filters = UnsafeMutablePointer<lzma_filter>.allocate(capacity: Int(LZMA_FILTERS_MAX) + 1)

    /// - Parameters:
    ///   - header: The first bytes of the block, with at least its header.
    ///   - check: The kind of check in the headers of the stream.
    ///   - unpaddedByteCount: The length of the block without its padding, as the index has it.
    ///   - byteCount: The length of the decoded bytes, as the index has it.
    init(
        header: [UInt8], check: UInt32, unpaddedByteCount: Int64, byteCount: Int64, _ context: BlobContext
    ) throws(BlobError) {
        self.stream.initialize(to: lzma_stream())
        self.block.initialize(to: lzma_block())
        self.filters.initialize(repeating: lzma_filter(), count: Int(LZMA_FILTERS_MAX) + 1)
        guard let first = header.first, first > 0, header.count >= (Int(first) + 1) * 4 else { throw Self.noHeader }
        self.block.pointee.version = 1
        self.block.pointee.header_size = (UInt32(first) + 1) * 4
        self.block.pointee.check = lzma_check(check)
        self.block.pointee.filters = self.filters
        let status = blob_lzma_block_header_decode(self.block, nil, header)
        guard status == LZMA_OK else {
            // After an error there are no filters; liblzma marks the end of the list only on success.
            self.filters.update(repeating: lzma_filter(), count: Int(LZMA_FILTERS_MAX) + 1)
            throw status == LZMA_MEM_ERROR ? Self.noMemory : Self.noHeader
        }
        try self.checkWindow(context)
        let declared = self.block.pointee.uncompressed_size
        guard declared == UInt64.max || declared == UInt64(byteCount),
            blob_lzma_block_compressed_size(self.block, UInt64(unpaddedByteCount)) == LZMA_OK
        else { throw BlobError(.corrupted, "The index of the xz has other lengths than a block.") }
        self.block.pointee.uncompressed_size = UInt64(byteCount)
        switch blob_lzma_block_decoder(self.stream, self.block) {
        case LZMA_OK: break
        case LZMA_MEM_ERROR: throw Self.noMemory
        default: throw BlobError(.unsupported, "A block of the xz has filters that are not known.")
        }
    }

    deinit {
        blob_lzma_end(self.stream)
        for filter in UnsafeBufferPointer(start: self.filters, count: Int(LZMA_FILTERS_MAX)) { free(filter.options) }
        self.stream.deallocate()
        self.block.deallocate()
        self.filters.deallocate()
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        var status = LZMA_OK
        // The block header is not decoded again.
        if self.skippedByteCount < self.block.pointee.header_size {
            let count = min(input.count, Int(self.block.pointee.header_size) - self.skippedByteCount)
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
            self.skippedByteCount += count
        }
        output.withUnsafeMutableBytes { buffer, count in
            self.stream.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            self.stream.pointee.avail_in = input.count
            self.stream.pointee.next_out = buffer.baseAddress.map { ($0 + count).assumingMemoryBound(to: UInt8.self) }
            self.stream.pointee.avail_out = buffer.count - count
            status = blob_lzma_code(self.stream, LZMA_RUN)
            count = buffer.count - self.stream.pointee.avail_out
            input = UnsafeRawBufferPointer(rebasing: input.suffix(self.stream.pointee.avail_in))
            (self.stream.pointee.next_in, self.stream.pointee.next_out) = (nil, nil)
        }
        switch status {
        case LZMA_OK, LZMA_BUF_ERROR: return false
        case LZMA_STREAM_END: return true
        case LZMA_MEM_ERROR: throw Self.noMemory
        default: throw BlobError(.corrupted, "A block of the xz is damaged.")
        }
    }

    private var skippedByteCount = 0

    private func checkWindow(_ context: BlobContext) throws(BlobError) {
        for filter in UnsafeBufferPointer(start: self.filters, count: Int(LZMA_FILTERS_MAX)) {
            guard filter.id == Self.lzma2, let options = filter.options else { continue }
            let window = options.assumingMemoryBound(to: lzma_options_lzma.self).pointee.dict_size
            try context.checkMemory(UInt64(window), for: "A block of the xz")
            guard window <= Self.maximumWindowByteCount else {
                throw BlobError(.limitExceeded, "A block of the xz has too large a window to be decoded apart.")
            }
        }
    }

    private static let noHeader = BlobError(.corrupted, "The header of a block of the xz is damaged.")
    private static let noMemory = BlobError(.io, "There is no memory to decode a block.", isTransient: true)
}
