public import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns the bytes from `byteOffset` on, in chunks that are requested one at a time.
    ///
    /// Each iteration opens its own reader. A source that may block is opened and read on other threads, ahead of the
    /// consumer (``readingAhead(windowByteCounts:)``); a source that never blocks is read on the task's thread when a
    /// chunk is requested. Cancelling the task makes the iteration throw ``BlobError/Code/cancelled`` at once; the
    /// reader is closed as soon as its call returns. Leaving the loop also closes it.
    ///
    /// ```swift
    /// var byteCount = 0
    /// for try await chunk in source.chunks(ofAtMost: 1 << 20) { byteCount += chunk.count }
    /// ```
    ///
    /// - Parameters:
    ///   - byteCount: The maximum size of a chunk in bytes, at least 1; by default 128 KiB, the size at which reading
    ///     from the page cache is fastest. Any chunk may be shorter, and has at least 1 byte.
    ///   - byteOffset: The offset of the first byte.
    ///   - context: The context of each iteration.
    public func chunks(
        ofAtMost byteCount: Int = 128 * 1024, at byteOffset: Int64 = 0, context: BlobContext = BlobContext()
    ) -> BlobSequence<Data, BlobError> {
        precondition(byteCount > 0, "A chunk must have room for at least one byte.")
        return BlobSequence {
            let reader = ChunkReader(self, at: byteOffset, byteCount, context)
            return { () async throws(BlobError) in try await reader.nextUnlessCancelled() }
        }
    }

    /// This source, or a layer that reads it on other threads if it may block.
    package var withoutBlocking: any BlobInputStreamDataSource {
        self.traits.contains(.neverBlocks) ? self : ReadAheadSource(self)
    }

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
    ///   - byteCount: The maximum length of a line in bytes, without its LF; by default 1 MiB, which exceeds any line
    ///     written for people, yet keeps memory bounded. A longer line throws ``BlobError/Code/limitExceeded``.
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

/// The reader of the chunks of one iteration. Like every reader, it has one owner.
private final class ChunkReader {
    private let context: BlobContext
    private let source: any BlobInputStreamDataSource
    private let byteOffset: Int64
    private let maximumByteCount: Int
    private var reader: BlobReader?
    private var isOver = false

    init(
        _ source: any BlobInputStreamDataSource, at byteOffset: Int64, _ maximumByteCount: Int, _ context: BlobContext
    ) {
        self.source = source
        self.byteOffset = byteOffset
        self.maximumByteCount = maximumByteCount
        self.context = context.makeChild()
    }

    deinit { self.reader?.close() }

    /// Returns the next chunk; nil at the end, and after any error except cancellation. Cancelling the task cancels the
    /// context.
    func nextUnlessCancelled() async throws(BlobError) -> Data? {
        let cancellation = self.context.cancellation
        do {
            return try await withTaskCancellationHandler {
                try await self.next()
            } onCancel: {
                cancellation.cancel()
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    private func next() async throws -> Data? {
        guard !self.isOver else { return nil }
        do {
            while true {
                let reader = try self.openedReader()
                var result = BlobReadResult.end
                let chunk = try Data(readingAtMost: self.maximumByteCount, from: reader, &result)
                switch result {
                case .bytes: return chunk
                case .end: return self.finish()
                case .notYet: await Self.wait(for: reader)
                }
            }
        } catch {
            let error = BlobError(wrapping: error)
            if error.code != .cancelled { _ = self.finish() }
            throw error
        }
    }

    private func openedReader() throws -> BlobReader {
        if let reader { return reader }
        let reader = try self.source.withoutBlocking.open(at: self.byteOffset, context: self.context)
        self.reader = reader
        return reader
    }

    private func finish() -> Data? {
        self.isOver = true
        self.reader?.close()
        return nil
    }

    private static func wait(for reader: BlobReader) async {
        let gate = Gate()
        reader.whenReadable(BlobWaker { gate.open() })
        await withCheckedContinuation { gate.enter($0) }
    }
}

extension Data {
    /// Uses the memory of `bytes` if no other owner can access it, because the receiver may write to it; otherwise
    /// copies it.
    init(_ bytes: BlobBytes) {
        self = bytes.withUnsafeBytes { buffer in
            guard bytes.isExclusive, let start = buffer.baseAddress else { return Data(buffer) }
            return Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: buffer.count,
                deallocator: .custom { _, _ in withExtendedLifetime(bytes) {} })
        }
    }

    /// Reads once from `reader`: into memory that fits the bytes, or without a copy if the reader hands over its
    /// memory.
    package init(readingAtMost byteCount: Int, from reader: BlobReader, _ result: inout BlobReadResult) throws {
        if let taken = try reader.readBytes(atMost: byteCount) {
            self.init(taken)
            result = .bytes
            return
        }
        guard let memory = malloc(byteCount) else {
            throw BlobError(systemError: ENOMEM, doing: "Could not allocate \(byteCount) bytes")
        }
        do {
            let buffer = UnsafeMutableRawBufferPointer(start: memory, count: byteCount)
            var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
            result = try reader.read(into: &output)
            let count = output.finalize(for: buffer)
            // A short read must not keep the memory of a full one.
            let fitted = count < byteCount ? realloc(memory, Swift.max(count, 1)) ?? memory : memory
            self.init(bytesNoCopy: fitted, count: count, deallocator: .free)
        } catch {
            free(memory)
            throw error
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
            guard self.line.count + part.count <= self.maximumByteCount else { throw self.lengthError() }
            self.line.append(contentsOf: part)
            if let end {
                self.chunk = self.chunk[(end + 1)...]
                return self.takeLine(endByteCount: 1)
            }
            self.isOver = true  // Unless more chunks follow, which cannot happen after an error.
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

    private mutating func lengthError() -> BlobError {
        self.isOver = true
        return BlobError(
            .limitExceeded, "A line is longer than the limit of \(self.maximumByteCount) bytes.",
            byteOffset: self.byteOffset
        ).passing(layer: self.source.layerName, operation: "read", locator: self.source.locator?.description)
    }
}
