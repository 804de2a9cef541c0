import BlobCore
import BlobDeflate

extension AppleAdjustmentData {
    /// The length of the longest adjustment data after decompression, in bytes.
    static let inflatedByteLimit = 4 << 20

    /// Decodes raw deflate data (RFC 1951).
    ///
    /// - Throws: ``BlobError/Code/corrupted``, ``BlobError/Code/truncated``, ``BlobError/Code/limitExceeded``.
    static func inflate(_ data: [UInt8]) throws(BlobError) -> [UInt8] {
        try data.withUnsafeBytes { bytes in Result { () throws(BlobError) in try self.inflate(bytes) } }.get()
    }

    private static func inflate(_ data: UnsafeRawBufferPointer) throws(BlobError) -> [UInt8] {
        var inflater = try Inflater()
        var (input, output) = (data, [UInt8]())
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 64 << 10, alignment: 16)
        defer { buffer.deallocate() }
        while true {
            var span = OutputRawSpan(buffer: buffer, initializedCount: 0)
            let given = input.count
            let isAtEnd = try inflater.decode(&input, into: &span)
            let count = span.finalize(for: buffer)
            output += buffer[..<count]
            guard output.count <= self.inflatedByteLimit else {
                throw BlobError(.limitExceeded, "Adjustment data have more than \(self.inflatedByteLimit) bytes.")
            }
            if isAtEnd { return output }
            guard count > 0 || input.count < given else {
                throw BlobError(.truncated, "The adjustment data end too early.")
            }
        }
    }
}
