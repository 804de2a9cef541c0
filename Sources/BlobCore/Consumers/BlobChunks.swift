public import BlobPlatform

/// The bytes of a source as an `AsyncSequence` of `Data`, one chunk of demand.
///
/// Each iteration opens a reader of its own. A source that may block is opened and read on threads of their own, ahead of
/// the consumer (``ReadAheadSource``); one that does not is read when a chunk is asked for, on the task's thread.
/// Cancelling the task makes the iteration throw ``BlobError/Code/cancelled`` at once; the reader closes as soon as its
/// call returns. Leaving the loop closes it too.
public struct BlobChunks: AsyncSequence, Sendable {
    /// The size of a chunk unless told otherwise: 128 KiB, where reading from the page cache is fastest.
    @usableFromInline package static let defaultByteCount = 128 * 1024

    let source: any BlobInputStreamDataSource
    let byteOffset: Int64
    let maximumByteCount: Int
    let context: BlobContext

    /// Starts an iteration; the reader is opened by its first step.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: ChunkReader(self)) }

    /// One pass over the chunks. Ends, once, with nil or with a ``BlobError``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: ChunkReader

        /// The next chunk: 1 byte to the maximum; nil at the end.
        public mutating func next() async throws -> Data? {
            let cancellation = self.reader.context.cancellation
            return try await withTaskCancellationHandler {
                try await self.reader.next()
            } onCancel: {
                cancellation.cancel()
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
        precondition(byteCount > 0, "A chunk needs room for at least one byte.")
        return BlobChunks(source: self, byteOffset: byteOffset, maximumByteCount: byteCount, context: context)
    }
}
