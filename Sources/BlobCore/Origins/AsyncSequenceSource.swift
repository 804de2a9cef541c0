public import BlobPlatform

/// The bytes of an `AsyncSequence`, event-driven: no thread waits for its next element.
///
/// A task iterates over the sequence while a reader is open, at most one pipe's capacity ahead of it, and is cancelled
/// when the reader closes. A repeatable source has readers side by side, as each has a sequence of its own.
public struct AsyncSequenceSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source of a sequence of chunks of bytes: `Data`, `[UInt8]`, `ArraySlice<UInt8>` ...
    ///
    /// - Parameters:
    ///   - info: What the source says of itself; a byte count is a promise.
    ///   - isRepeatable: True when each sequence that `makeSequence` gives has the same bytes from the start.
    ///   - makeSequence: Called for each opening.
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

    /// Creates a source of a sequence of single bytes; parameters as with chunks.
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
            return PipeReader(buffer, info: info) { task.cancel() }
        }
    }
}
