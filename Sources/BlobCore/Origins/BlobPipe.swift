public import BlobPlatform

/// A bounded pipe: a producer writes bytes, and a consumer reads them from ``source``, each at its own pace.
///
/// The producer holds the pipe; several producers may write to it, and while there is room for it, a write is not
/// interleaved with others. A full pipe makes producers wait, by blocking or by suspending the task, until bytes are
/// read, even when ``source`` has not been opened yet: a consumer that gives up before that must notify its producer. A
/// producer that releases the pipe without ``finish(throwing:)`` has failed: the reader throws
/// ``BlobError/Code/truncated`` and never reaches a clean end.
///
/// ```swift
/// let pipe = BlobPipe()
/// Task {
///     for number in 1...1000 { try await pipe.write(Data("\(number)\n".utf8)) }
///     pipe.finish()
/// }
/// for try await line in pipe.source.lines() { print(line) }
/// ```
public final class BlobPipe: Sendable {
    /// The default capacity in bytes: 64 KiB, as of a pipe of the system on Linux (`pipe(7)`).
    @usableFromInline package static let defaultCapacity = 64 * 1024

    /// The source of the bytes that the producer writes. It can be read once, from the start; opening it at an offset
    /// drops the bytes before.
    public let source: any BlobInputStreamDataSource
    private let buffer: PipeBuffer

    /// Creates a pipe.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes in the pipe, from 1; by default 64 KiB. The memory exists only while
    ///     the pipe holds bytes.
    ///   - info: The info of the source. A declared byte count is binding: the reader throws when it does not hold.
    public init(capacity: Int = BlobPipe.defaultCapacity, info: BlobInfo = BlobInfo()) {
        let buffer = PipeBuffer(capacity: capacity)
        self.buffer = buffer
        self.source = SequentialSource(layer: "BlobPipe", info: info, traits: .neverBlocks) { _ in
            .stream(PipeStream(buffer, info: info), startingAt: 0)
        }
    }

    deinit {
        self.buffer.finish(BlobError(.truncated, "The producer of the pipe went away before its end."))
    }

    /// Writes all of `bytes`, blocking while the pipe is full.
    ///
    /// - Throws: ``BlobError/Code/closed`` when the reader was closed or the pipe finished,
    ///   ``BlobError/Code/cancelled`` and ``BlobError/Code/timedOut`` as `context` determines. Some bytes may have been
    ///   written.
    public func write(_ bytes: UnsafeRawBufferPointer, context: BlobContext = BlobContext()) throws(BlobError) {
        try self.buffer.write(bytes, context)
    }

    /// Writes all of `data`, blocking while the pipe is full; see ``write(_:context:)-(UnsafeRawBufferPointer,_)``.
    public func write(_ data: Data, context: BlobContext = BlobContext()) throws(BlobError) {
        do {
            try data.withUnsafeBytes { try self.buffer.write($0, context) }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Writes all of `data`, suspending while the pipe is full.
    ///
    /// - Throws: ``BlobError/Code/closed`` as in the blocking form, or ``BlobError/Code/cancelled`` when the task is
    ///   cancelled.
    public func write(_ data: Data) async throws {
        do {
            try await self.buffer.write(data)
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Writes as many bytes as fit now, without waiting.
    ///
    /// - Returns: The number of bytes written, from the front; 0 when the pipe is full.
    /// - Throws: ``BlobError/Code/closed`` when the reader was closed or the pipe finished.
    public func tryWrite(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> Int {
        try self.buffer.tryWrite(bytes)
    }

    /// Ends the bytes. Only the first call has an effect.
    ///
    /// - Parameter error: The reason why the producer could not continue, which the reader throws after the bytes
    ///   written so far. Nil is a clean end.
    public func finish(throwing error: (any Error)? = nil) {
        self.buffer.finish(error.map { BlobError(wrapping: $0) })
    }
}
