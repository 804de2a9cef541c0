import BlobPlatform

/// The reader of the chunks of one iteration. Has one owner, as every reader has.
final class ChunkReader {
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

    /// Returns the next chunk; nil at the end, and after an error that is not the cancellation. Cancelling the task
    /// cancels the context.
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

extension BlobInputStreamDataSource {
    /// This source, or a layer that reads it on other threads if it may block.
    package var withoutBlocking: any BlobInputStreamDataSource {
        self.traits.contains(.neverBlocks) ? self : ReadAheadSource(self)
    }
}

extension Data {
    /// Uses the memory of `bytes` if nobody else sees it, as the receiver may write to it; otherwise copies it.
    init(_ bytes: BlobBytes) {
        self = bytes.withUnsafeBytes { buffer in
            guard bytes.isExclusive, let start = buffer.baseAddress else { return Data(buffer) }
            return Data(
                bytesNoCopy: UnsafeMutableRawPointer(mutating: start), count: buffer.count,
                deallocator: .custom { _, _ in withExtendedLifetime(bytes) {} })
        }
    }

    /// Makes one read of `reader`, into memory that fits the bytes, or uses the memory that the reader gives away.
    package init(readingAtMost byteCount: Int, from reader: BlobReader, _ result: inout BlobReadResult) throws {
        if let taken = try reader.take(atMost: byteCount) {
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
