package import BlobCore
import BlobIndex
import BlobPlatform
import CLzma

/// The state of a decoder of liblzma.
private final class LzmaStream {
    // On the heap: liblzma keeps a pointer to it.
    let pointer = UnsafeMutablePointer<lzma_stream>.allocate(capacity: 1)

    init() { self.pointer.initialize(to: lzma_stream()) }

    deinit {
        blob_lzma_end(self.pointer)
        self.pointer.deallocate()
    }

    /// Decodes bytes and removes them from the front of `input`.
    func code(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) -> lzma_ret {
        output.withUnsafeMutableBytes { buffer, count in
            self.pointer.pointee.next_in = input.baseAddress?.assumingMemoryBound(to: UInt8.self)
            self.pointer.pointee.avail_in = input.count
            self.pointer.pointee.next_out = buffer.baseAddress.map { ($0 + count).assumingMemoryBound(to: UInt8.self) }
            self.pointer.pointee.avail_out = buffer.count - count
            let status = blob_lzma_code(self.pointer, LZMA_RUN)
            count = buffer.count - self.pointer.pointee.avail_out
            input = UnsafeRawBufferPointer(rebasing: input.suffix(self.pointer.pointee.avail_in))
            (self.pointer.pointee.next_in, self.pointer.pointee.next_out) = (nil, nil)
            return status
        }
    }
}

/// A decoder of one block of xz data that uses liblzma.
final class XzDecoder: BlockDecoder {
    /// The largest window of a block, in bytes, if the job allows as much memory: 128 MiB, because each thread may have
    /// one.
    static let maximumWindowByteCount = 128 << 20

    /// The identifier of LZMA2 (The .xz File Format, 5.3.1).
    private static let lzma2: UInt64 = 0x21

    private let stream = LzmaStream()
    // On the heap: liblzma keeps pointers to these.
    private let block = UnsafeMutablePointer<lzma_block>.allocate(capacity: 1)
    private let filters = UnsafeMutablePointer<lzma_filter>.allocate(capacity: Int(LZMA_FILTERS_MAX) + 1)

    /// Creates a decoder of a block.
    ///
    /// - Parameters:
    ///   - header: The first bytes of the block, with at least its header.
    ///   - check: The kind of check in the headers of the stream.
    ///   - unpaddedByteCount: The length of the block without its padding, from the index.
    ///   - byteCount: The length of the decoded bytes, from the index.
    init(
        header: [UInt8], check: UInt32, unpaddedByteCount: Int64, byteCount: Int64, _ context: BlobContext
    ) throws(BlobError) {
        self.block.initialize(to: lzma_block())
        self.filters.initialize(repeating: lzma_filter(), count: Int(LZMA_FILTERS_MAX) + 1)
        guard let first = header.first, first > 0, header.count >= (Int(first) + 1) * 4 else {
            throw Self.damagedHeaderError
        }
        self.block.pointee.version = 1
        self.block.pointee.header_size = (UInt32(first) + 1) * 4
        self.block.pointee.check = lzma_check(check)
        self.block.pointee.filters = self.filters
        let status = blob_lzma_block_header_decode(self.block, nil, header)
        guard status == LZMA_OK else {
            // After an error, the list must be empty: liblzma terminates it only on success.
            self.filters.update(repeating: lzma_filter(), count: Int(LZMA_FILTERS_MAX) + 1)
            throw status == LZMA_MEM_ERROR ? Self.outOfMemoryError : Self.damagedHeaderError
        }
        try self.checkWindow(context)
        let declared = self.block.pointee.uncompressed_size
        guard declared == UInt64.max || declared == UInt64(byteCount),
            blob_lzma_block_compressed_size(self.block, UInt64(unpaddedByteCount)) == LZMA_OK
        else { throw BlobError(.corrupted, "The index of the xz file does not match the lengths of a block.") }
        self.block.pointee.uncompressed_size = UInt64(byteCount)
        switch blob_lzma_block_decoder(self.stream.pointer, self.block) {
        case LZMA_OK: break
        case LZMA_MEM_ERROR: throw Self.outOfMemoryError
        default: throw BlobError(.unsupported, "A block of the xz file has filters that are not supported.")
        }
    }

    deinit {
        for filter in UnsafeBufferPointer(start: self.filters, count: Int(LZMA_FILTERS_MAX)) { free(filter.options) }
        self.block.deallocate()
        self.filters.deallocate()
    }

    func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) -> Bool {
        // The block header is not decoded again.
        if self.skippedByteCount < self.block.pointee.header_size {
            let count = min(input.count, Int(self.block.pointee.header_size) - self.skippedByteCount)
            input = UnsafeRawBufferPointer(rebasing: input.dropFirst(count))
            self.skippedByteCount += count
        }
        switch self.stream.code(&input, into: &output) {
        case LZMA_OK, LZMA_BUF_ERROR: return false
        case LZMA_STREAM_END: return true
        case LZMA_MEM_ERROR: throw Self.outOfMemoryError
        default: throw BlobError(.corrupted, "A block of the xz file is damaged.")
        }
    }

    private var skippedByteCount = 0

    private func checkWindow(_ context: BlobContext) throws(BlobError) {
        for filter in UnsafeBufferPointer(start: self.filters, count: Int(LZMA_FILTERS_MAX)) {
            guard filter.id == Self.lzma2, let options = filter.options else { continue }
            let window = options.assumingMemoryBound(to: lzma_options_lzma.self).pointee.dict_size
            try context.checkMemory(UInt64(window), for: "A block of the xz file")
            guard window <= Self.maximumWindowByteCount else {
                throw BlobError(
                    .limitExceeded, "A block of the xz file has too large a window to be decoded separately.")
            }
        }
    }

    private static let damagedHeaderError = BlobError(.corrupted, "The header of a block of the xz file is damaged.")
    private static let outOfMemoryError = BlobError(.io, "Not enough memory to decode a block.", isTransient: true)
}

extension BlockFormat {
    /// The blocks of xz, decoded by liblzma; nil if liblzma cannot be loaded.
    static let xz: BlockFormat? = {
        guard blob_lzma_load() == nil else { return nil }
        return BlockFormat(prefersStreaming: true, table: { try BlockTable.xz($0) }, scan: nil) {
            bytes, table, index, context in
            let detail = table.points[index].detail
            let unpadded = Int64(table.compressedRange(index).count) - Int64(detail >> BlockTable.paddingShift)
            let byteCount = table.byteCount(of: index)
            let header = Array(bytes.prefix(Int(LZMA_BLOCK_HEADER_SIZE_MAX)))
            // The window is at most as long as the block, and usually at least a quarter of it.
            let memory = Int64(bytes.count) + 2 * min(byteCount, Int64(XzDecoder.maximumWindowByteCount))
            return Block(
                bytes: bytes, byteCount: byteCount, check: xzCheckName(Int(detail & 0xFF)),
                memoryByteCount: Int(memory)
            ) { () throws(BlobError) in
                try XzDecoder(
                    header: header, check: UInt32(detail & 0xFF), unpaddedByteCount: unpadded,
                    byteCount: byteCount, context)
            }
        }
    }()
}

/// A decoder of a branch filter that uses liblzma. It converts the call addresses of a program back to relative
/// addresses.
///
/// liblzma applies a filter only before another coder, so it receives the bytes as uncompressed LZMA2 chunks.
package final class BranchDecoder {
    /// The longest chunk (The .xz File Format, 5.3.1).
    private static let chunkByteCount = 64 * 1024
    private static let lzma2: UInt64 = 0x21

    private let stream = LzmaStream()
    // On the heap: liblzma keeps pointers to these.
    private let branch = UnsafeMutablePointer<lzma_options_bcj>.allocate(capacity: 1)
    private let window = UnsafeMutablePointer<lzma_options_lzma>.allocate(capacity: 1)
    private var isFirst = true

    /// Returns true if liblzma can be loaded and supports the filter: 0xA is ARM64 (from 5.4 on), 0xB RISC-V (5.6).
    package static func isAvailable(_ filter: UInt64) -> Bool {
        BlockFormat.xz != nil && blob_lzma_filter_decoder_is_supported(filter) != 0
    }

    /// Creates a decoder of a filter.
    ///
    /// - Parameters:
    ///   - filter: The identifier of an available filter.
    ///   - startOffset: The address of the first byte.
    /// - Throws: ``BlobError/Code/unsupported`` for a start offset that the filter does not support;
    ///   ``BlobError/Code/io`` if out of memory.
    package init(_ filter: UInt64, startOffset: UInt32) throws(BlobError) {
        self.branch.initialize(to: lzma_options_bcj(start_offset: startOffset))
        self.window.initialize(to: lzma_options_lzma())
        self.window.pointee.dict_size = 4096
        let filters = [
            lzma_filter(id: filter, options: self.branch), lzma_filter(id: Self.lzma2, options: self.window),
            lzma_filter(id: .max, options: nil),
        ]
        switch blob_lzma_raw_decoder(self.stream.pointer, filters) {
        case LZMA_OK: break
        case LZMA_MEM_ERROR: throw BlobError(.io, "Not enough memory for a filter.", isTransient: true)
        default: throw BlobError(.unsupported, "A branch filter has properties that are not supported.")
        }
    }

    deinit {
        self.branch.deallocate()
        self.window.deallocate()
    }

    /// Returns the decoded bytes: as many as were passed in, except for a few that are held back until the next call.
    ///
    /// - Parameter isLast: True if no bytes follow these.
    package func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws(BlobError) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(Self.chunkByteCount)
            rest = rest.dropFirst(chunk.count)
            // The first chunk resets the window.
            let length = UInt16(chunk.count - 1)
            try self.code([self.isFirst ? 1 : 2, UInt8(length >> 8), UInt8(length & 0xFF)] + chunk, into: &output)
            self.isFirst = false
        }
        if isLast { try self.code([0], into: &output) }
        return output
    }

    private func code(_ input: [UInt8], into output: inout [UInt8]) throws(BlobError) {
        var isWhole = false
        output += try [UInt8](capacity: input.count + Self.heldByteCount) { output in
            input.withUnsafeBytes { input in
                var rest = input
                let status = self.stream.code(&rest, into: &output)
                isWhole = rest.isEmpty && (status == LZMA_OK || status == LZMA_STREAM_END)
            }
        }
        guard isWhole else { throw BlobError(.internalError, "A branch filter did not consume its input.") }
    }

    /// An upper bound on the number of bytes that a filter holds back.
    private static let heldByteCount = 64
}
