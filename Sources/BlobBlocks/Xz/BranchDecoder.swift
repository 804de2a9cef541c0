package import BlobCore
import CLzma

/// A decoder of a branch filter by liblzma, which makes the addresses in the calls of a program relative again.
///
/// liblzma applies a filter only before another coder: the bytes are given to it as LZMA2 chunks that are not compressed.
package final class BranchDecoder {
    /// The longest chunk (The .xz File Format, 5.3.1).
    private static let chunkByteCount = 64 * 1024
    private static let lzma2: UInt64 = 0x21

    // On the heap: liblzma keeps pointers to these.
    private let stream = UnsafeMutablePointer<lzma_stream>.allocate(capacity: 1)
    private let branch = UnsafeMutablePointer<lzma_options_bcj>.allocate(capacity: 1)
    private let window = UnsafeMutablePointer<lzma_options_lzma>.allocate(capacity: 1)
    private var isFirst = true

    /// Returns true when liblzma can be loaded and has the filter: 0xA is ARM64 (from 5.4 on), 0xB RISC-V (5.6).
    package static func isAvailable(_ filter: UInt64) -> Bool {
        BlockFormat.xz != nil && blob_lzma_filter_decoder_is_supported(filter) != 0
    }

    /// - Parameters:
    ///   - filter: The identifier of an available filter.
    ///   - startOffset: The address of the first byte.
    /// - Throws: ``BlobError/Code/unsupported`` for a start offset that the filter does not have,
    ///   ``BlobError/Code/io`` when there is no memory.
    package init(_ filter: UInt64, startOffset: UInt32) throws(BlobError) {
        self.stream.initialize(to: lzma_stream())
        self.branch.initialize(to: lzma_options_bcj(start_offset: startOffset))
        self.window.initialize(to: lzma_options_lzma())
        self.window.pointee.dict_size = 4096
        let filters = [
            lzma_filter(id: filter, options: self.branch), lzma_filter(id: Self.lzma2, options: self.window),
            lzma_filter(id: .max, options: nil),
        ]
        switch blob_lzma_raw_decoder(self.stream, filters) {
        case LZMA_OK: break
        case LZMA_MEM_ERROR: throw BlobError(.io, "There is no memory for a filter.", isTransient: true)
        default: throw BlobError(.unsupported, "A branch filter has properties that are not known.")
        }
    }

    deinit {
        blob_lzma_end(self.stream)
        self.stream.deallocate()
        self.branch.deallocate()
        self.window.deallocate()
    }

    /// Returns the decoded bytes: as many as are given, but for a few that are held back until more or the end comes.
    ///
    /// - Parameter isLast: True when no bytes follow these.
    package func decode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws(BlobError) -> [UInt8] {
        var output: [UInt8] = []
        var rest = bytes[...]
        while !rest.isEmpty {
            let chunk = rest.prefix(Self.chunkByteCount)
            rest = rest.dropFirst(chunk.count)
            // The first chunk begins the window.
            let length = UInt16(chunk.count - 1)
            try self.code([self.isFirst ? 1 : 2, UInt8(length >> 8), UInt8(length & 0xFF)] + chunk, into: &output)
            self.isFirst = false
        }
        if isLast { try self.code([0], into: &output) }
        return output
    }

    private func code(_ input: [UInt8], into output: inout [UInt8]) throws(BlobError) {
        var status = LZMA_OK
        let room = input.count + Self.heldByteCount
        output += [UInt8](unsafeUninitializedCapacity: room) { buffer, count in
            input.withUnsafeBufferPointer { input in
                self.stream.pointee.next_in = input.baseAddress
                self.stream.pointee.avail_in = input.count
                self.stream.pointee.next_out = buffer.baseAddress
                self.stream.pointee.avail_out = room
                status = blob_lzma_code(self.stream, LZMA_RUN)
                count = room - self.stream.pointee.avail_out
                (self.stream.pointee.next_in, self.stream.pointee.next_out) = (nil, nil)
            }
        }
        guard status == LZMA_OK || status == LZMA_STREAM_END, self.stream.pointee.avail_in == 0 else {
            throw BlobError(.internalError, "A branch filter ends with status \(status.rawValue).")
        }
    }

    /// More bytes than a filter holds back.
    private static let heldByteCount = 64
}
