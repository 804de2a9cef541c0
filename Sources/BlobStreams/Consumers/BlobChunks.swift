import Foundation

/// The bytes of a source as an `AsyncSequence` of `Data`, one chunk of demand.
///
/// Each iteration opens a reader of its own. Nothing is read ahead: a chunk is read when the last one has been taken.
/// Blocking reads run on threads of their own, event-driven ones on none, but for their opening. Cancelling the task
/// makes the iteration throw ``BlobError/Code/cancelled`` at once; the reader closes as soon as its call returns.
/// Leaving the loop closes it too.
public struct BlobChunks: AsyncSequence, Sendable {
    /// The size of a chunk unless told otherwise: 128 KiB, where reading from the page cache is fastest.
    public static let defaultByteCount = 128 * 1024

    private let source: any BlobInputStreamDataSource
    private let byteOffset: Int64
    private let maximumByteCount: Int
    private let context: BlobContext

    init(_ source: any BlobInputStreamDataSource, at byteOffset: Int64, ofAtMost byteCount: Int, _ context: BlobContext)
    {
        precondition(byteCount > 0, "A chunk needs room for at least one byte.")
        self.source = source
        self.byteOffset = byteOffset
        self.maximumByteCount = byteCount
        self.context = context
    }

    /// Starts an iteration; the reader is opened by its first step.
    public func makeAsyncIterator() -> AsyncIterator {
        AsyncIterator(
            pump: ChunkPump(
                self.source, at: self.byteOffset, ofAtMost: self.maximumByteCount, self.context.makeChild()))
    }

    /// One pass over the chunks. Ends, once, with nil or with a ``BlobError``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let pump: ChunkPump

        var source: any BlobInputStreamDataSource { self.pump.source }

        /// The next chunk: 1 byte to the maximum; nil at the end.
        public mutating func next() async throws -> Data? {
            let pump = self.pump
            return try await withTaskCancellationHandler {
                try await withCheckedThrowingContinuation { pump.demand($0) }
            } onCancel: {
                pump.cancel()
            }
        }
    }
}

extension BlobInputStreamDataSource {
    /// The bytes from `byteOffset` on, in chunks of at most `byteCount` bytes.
    ///
    /// - Parameters:
    ///   - byteCount: The most bytes of a chunk, from 1; a chunk may be shorter anywhere.
    ///   - byteOffset: Where to start, in bytes.
    ///   - context: The terms of each iteration.
    public func chunks(
        ofAtMost byteCount: Int = BlobChunks.defaultByteCount, at byteOffset: Int64 = 0,
        context: BlobContext = BlobContext()
    ) -> BlobChunks {
        BlobChunks(self, at: byteOffset, ofAtMost: byteCount, context)
    }
}
