/// A reader over a function that reads at any offset.
package final class PositionalReader: BlobPluginReader {
    package typealias ReadAt = (_ byteOffset: Int64, _ output: inout OutputRawSpan) throws -> Void

    package let info: BlobInfo
    private let readAt: ReadAt
    private var byteOffset: Int64
    private var isAtEnd = false
    private var failure: (any Error)?

    /// - Parameter readAt: A function that appends bytes from an offset below the byte count; it appends none only when
    ///   the length is unknown and this is the end.
    package init(
        _ info: BlobInfo, at byteOffset: Int64, matching validator: BlobValidator?, readAt: @escaping ReadAt
    ) throws(BlobError) {
        try info.check(byteOffset: byteOffset, matching: validator)
        self.info = info
        self.byteOffset = byteOffset
        self.readAt = readAt
    }

    package func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        if let failure { throw failure }
        if self.isAtEnd || self.byteOffset == self.info.byteCount { return .end }
        do {
            let room = self.info.byteCount.map { Int(clamping: $0 - self.byteOffset) } ?? .max
            let count = try output.append(atMost: room) { try self.readAt(self.byteOffset, &$0) }
            let (offset, overflows) = self.byteOffset.addingReportingOverflow(Int64(count))
            guard !overflows else { throw BlobError.pastLargestOffset }
            self.byteOffset = offset
            self.isAtEnd = count == 0
            return count == 0 ? .end : .bytes
        } catch {
            self.failure = error
            throw error
        }
    }

    package func close() { self.failure = BlobError(.closed, "The reader is closed.") }
}
