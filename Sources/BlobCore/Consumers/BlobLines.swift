import BlobPlatform

/// The lines of a source as an `AsyncSequence` of `String`.
///
/// A line ends with LF or CR LF, which are not part of it; the last line may lack them. Invalid UTF-8 is repaired with
/// U+FFFD, as `String(decoding:as:)` does.
///
/// ```swift
/// for try await line in source.lines() where line.hasPrefix("error:") { print(line) }
/// ```
public struct BlobLines: AsyncSequence, Sendable {
    /// The default maximum length of a line in bytes: 1 MiB. Longer than a person reads, while memory stays bounded.
    @usableFromInline package static let defaultMaximumByteCount = 1 << 20

    fileprivate let chunks: BlobChunks
    fileprivate let maximumByteCount: Int

    /// Starts an iteration.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(self) }

    /// One pass over the lines.
    public struct AsyncIterator: AsyncIteratorProtocol {
        private let lines: BlobLines
        private var chunks: BlobChunks.AsyncIterator
        private var chunk = Data()
        private var line: [UInt8] = []
        private var byteOffset: Int64 = 0
        private var isOver = false

        fileprivate init(_ lines: BlobLines) {
            self.lines = lines
            self.chunks = lines.chunks.makeAsyncIterator()
        }

        /// Returns the next line; nil at the end.
        ///
        /// - Throws: ``BlobError/Code/limitExceeded`` for a line that is too long, and the errors of reading.
        public mutating func next() async throws -> String? {
            while !self.isOver {
                let end = self.chunk.firstIndex(of: UInt8(ascii: "\n"))
                let part = self.chunk[..<(end ?? self.chunk.endIndex)]
                guard self.line.count + part.count <= self.lines.maximumByteCount else { throw self.tooLong() }
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
            let source = self.lines.chunks.source
            return BlobError(
                .limitExceeded, "A line is longer than the limit of \(self.lines.maximumByteCount) bytes.",
                byteOffset: self.byteOffset
            ).passing(layer: source.layerName, operation: "read", locator: source.locator?.description)
        }
    }
}

extension BlobInputStreamDataSource {
    /// Returns the lines of this source.
    ///
    /// - Parameters:
    ///   - byteCount: The maximum length of a line in bytes, without its LF; by default 1 MiB. A longer line throws
    ///     ``BlobError/Code/limitExceeded``.
    ///   - context: The context of each iteration.
    public func lines(
        ofAtMost byteCount: Int = BlobLines.defaultMaximumByteCount, context: BlobContext = BlobContext()
    ) -> BlobLines {
        BlobLines(chunks: self.chunks(context: context), maximumByteCount: byteCount)
    }
}
