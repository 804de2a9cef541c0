import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns the lines of this source.
    ///
    /// A line ends with LF or CR LF, which are not part of it; the last line may lack them. Invalid UTF-8 is repaired
    /// with U+FFFD, as `String(decoding:as:)` does.
    ///
    /// ```swift
    /// for try await line in source.lines() where line.hasPrefix("error:") { print(line) }
    /// ```
    ///
    /// - Parameters:
    ///   - byteCount: The maximum length of a line in bytes, without its LF; by default 1 MiB, which is longer than a
    ///     person reads, while memory stays bounded. A longer line throws ``BlobError/Code/limitExceeded``.
    ///   - context: The context of each iteration.
    public func lines(
        ofAtMost byteCount: Int = 1 << 20, context: BlobContext = BlobContext()
    ) -> BlobSequence<String, BlobError> {
        BlobSequence {
            var lines = LineReader(self, byteCount, context)
            return { () async throws(BlobError) in try await lines.next() }
        }
    }
}

/// The reader of the lines of one iteration.
private struct LineReader {
    private let source: any BlobInputStreamDataSource
    private let maximumByteCount: Int
    private var chunks: BlobSequence<Data, BlobError>.AsyncIterator
    private var chunk = Data()
    private var line: [UInt8] = []
    private var byteOffset: Int64 = 0
    private var isOver = false

    init(_ source: any BlobInputStreamDataSource, _ maximumByteCount: Int, _ context: BlobContext) {
        self.source = source
        self.maximumByteCount = maximumByteCount
        self.chunks = source.chunks(context: context).makeAsyncIterator()
    }

    mutating func next() async throws(BlobError) -> String? {
        while !self.isOver {
            let end = self.chunk.firstIndex(of: UInt8(ascii: "\n"))
            let part = self.chunk[..<(end ?? self.chunk.endIndex)]
            guard self.line.count + part.count <= self.maximumByteCount else { throw self.tooLong() }
            self.line.append(contentsOf: part)
            if let end {
                self.chunk = self.chunk[(end + 1)...]
                return self.takeLine(endByteCount: 1)
            }
            self.isOver = true  // Unless there is more, which is not so after an error.
            guard let next = try await self.chunks.next() else {
                return self.line.isEmpty ? nil : self.takeLine(endByteCount: 0)
            }
            self.isOver = false
            self.chunk = next
        }
        return nil
    }

    private mutating func takeLine(endByteCount: Int) -> String {
        self.byteOffset += Int64(self.line.count + endByteCount)
        if endByteCount > 0, self.line.last == UInt8(ascii: "\r") { self.line.removeLast() }
        defer { self.line.removeAll(keepingCapacity: true) }
        return String(decoding: self.line, as: UTF8.self)
    }

    private mutating func tooLong() -> BlobError {
        self.isOver = true
        return BlobError(
            .limitExceeded, "A line is longer than the limit of \(self.maximumByteCount) bytes.",
            byteOffset: self.byteOffset
        ).passing(layer: self.source.layerName, operation: "read", locator: self.source.locator?.description)
    }
}
