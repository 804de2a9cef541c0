public import BlobPlatform

/// An event-driven source of the bytes of an `AsyncSequence`: no thread waits for its next element.
///
/// A task iterates over the sequence while a reader is open, ahead of the reader by at most the capacity of a pipe, and
/// is cancelled when the reader closes. A repeatable source supports concurrent readers, because each has its own
/// sequence.
///
/// ```swift
/// let numbers = AsyncSequenceSource(
///     isRepeatable: true,
///     chunks: {
///         AsyncStream { chunks in
///             for number in 1...3 { chunks.yield(Data("\(number)\n".utf8)) }
///             chunks.finish()
///         }
///     })
/// ```
public struct AsyncSequenceSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source of a sequence of byte chunks, such as `Data`, `[UInt8]` or `ArraySlice<UInt8>`.
    ///
    /// - Parameters:
    ///   - info: The info of the source; a declared byte count is binding.
    ///   - isRepeatable: True if each sequence from `makeSequence` has the same bytes from the start; false allows a
    ///     single opening.
    ///   - makeSequence: A closure that returns the sequence; called for each opening.
    public init<Chunks: AsyncSequence & SendableMetatype>(
        info: BlobInfo = BlobInfo(), isRepeatable: Bool = false,
        chunks makeSequence: @escaping @Sendable () -> Chunks
    ) where Chunks.Element: ContiguousBytes & Sendable, Chunks.AsyncIterator: SendableMetatype {
        self.init(info: info, isRepeatable: isRepeatable) { buffer in
            for try await chunk in makeSequence() {
                try await buffer.write(chunk.withUnsafeBytes { Data($0) })
            }
        }
    }

    /// Creates a source of a sequence of single bytes; the parameters are as for ``init(info:isRepeatable:chunks:)``.
    public init<Bytes: AsyncSequence & SendableMetatype>(
        info: BlobInfo = BlobInfo(), isRepeatable: Bool = false,
        bytes makeSequence: @escaping @Sendable () -> Bytes
    ) where Bytes.Element == UInt8, Bytes.AsyncIterator: SendableMetatype {
        self.init(info: info, isRepeatable: isRepeatable) { buffer in
            for try await byte in makeSequence() {
                let written = try withUnsafeBytes(of: byte) { try buffer.tryWrite($0) }
                if written == 0 { try await buffer.write(Data([byte])) }
            }
        }
    }

    private init(
        info: BlobInfo, isRepeatable: Bool, pump: @escaping @Sendable (PipeBuffer) async throws -> Void
    ) {
        self.base = SequentialSource(
            info: info, traits: isRepeatable ? [.neverBlocks, .repeatable, .concurrentReaders] : .neverBlocks
        ) { _ in
            let buffer = PipeBuffer(capacity: BlobPipe.defaultCapacity)
            let task = Task.detached {
                do {
                    try await pump(buffer)
                    buffer.finish(nil)
                } catch {
                    buffer.finish(BlobError(wrapping: error))
                }
            }
            return .stream(PipeStream(buffer, info: info) { task.cancel() }, startingAt: 0)
        }
    }
}
