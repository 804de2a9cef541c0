public import BlobPlatform

/// A bounded pipe: a producer pushes bytes in, a consumer reads them as ``source``, each at its own pace.
///
/// The producer holds the pipe; several may write to it, and a piece of one is not broken up by those of others while
/// there is room for it. A full pipe makes them wait, by blocking or by suspending the task, until somebody reads: also
/// when nobody has opened ``source`` yet, so a consumer that gives up before must tell its producer. A producer that
/// lets go of the pipe without ``finish(throwing:)`` has failed: the reader gets ``BlobError/Code/truncated``, never a
/// clean end.
public final class BlobPipe: Sendable {
    /// How many bytes a pipe holds unless told otherwise: 64 KiB, as a pipe of the system does on Linux (`pipe(7)`).
    @usableFromInline package static let defaultCapacity = 64 * 1024

    /// What the producer writes, to be read once, from the start; opening it at an offset drops the bytes before.
    public let source: any BlobInputStreamDataSource
    private let buffer: PipeBuffer

    /// Creates a pipe.
    ///
    /// - Parameters:
    ///   - capacity: How many bytes wait in it at most; 1 or more. The memory exists only while bytes wait.
    ///   - info: What the source says of itself. A byte count is a promise: the reader sees its breach as an error.
    public init(capacity: Int = BlobPipe.defaultCapacity, info: BlobInfo = BlobInfo()) {
        let buffer = PipeBuffer(capacity: capacity)
        self.buffer = buffer
        self.source = SequentialSource(layer: "BlobPipe", info: info, traits: .neverBlocks) { _ in
            PipeReader(buffer, info: info)
        }
    }

    deinit {
        self.buffer.finish(BlobError(.truncated, "The producer of the pipe went away before its end."))
    }

    /// Writes all of `bytes`, blocking while the pipe is full.
    ///
    /// - Throws: ``BlobError/Code/closed`` when the reader was closed or the pipe finished,
    ///   ``BlobError/Code/cancelled`` and ``BlobError/Code/timedOut`` as `context` says. Some bytes may have gone in.
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
    /// - Throws: ``BlobError/Code/closed`` as the blocking form, or ``BlobError/Code/cancelled`` with the task.
    public func write(_ data: Data) async throws {
        do {
            try await self.buffer.write(data)
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Writes what fits now, without waiting.
    ///
    /// - Returns: How many bytes from the front were taken; 0 when the pipe is full.
    /// - Throws: ``BlobError/Code/closed`` when the reader was closed or the pipe finished.
    public func tryWrite(_ bytes: UnsafeRawBufferPointer) throws(BlobError) -> Int {
        try self.buffer.tryWrite(bytes)
    }

    /// Ends the stream of bytes. Only the first call counts.
    ///
    /// - Parameter error: Why the producer could not go on; the reader throws it after the bytes written so far. Nil is
    ///   the end.
    public func finish(throwing error: (any Error)? = nil) {
        self.buffer.finish(error.map { BlobError(wrapping: $0) })
    }
}
