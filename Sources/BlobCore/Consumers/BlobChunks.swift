public import BlobPlatform

/// The bytes of a source as an `AsyncSequence` of `Data`, with a demand of one chunk.
///
/// Each iteration opens a reader of its own. A source that may block is opened and read on other threads, ahead of the
/// consumer (``ReadAheadSource``); a source that never blocks is read on the task's thread when a chunk is requested.
/// Cancelling the task makes the iteration throw ``BlobError/Code/cancelled`` at once; the reader is closed as soon as
/// its call returns. Leaving the loop closes it as well.
///
/// ```swift
/// var byteCount = 0
/// for try await chunk in source.chunks(ofAtMost: 1 << 20) { byteCount += chunk.count }
/// ```
public struct BlobChunks: AsyncSequence, Sendable {
    /// The default maximum size of a chunk in bytes: 128 KiB, where reading from the page cache is fastest.
    @usableFromInline package static let defaultByteCount = 128 * 1024

    let source: any BlobInputStreamDataSource
    let byteOffset: Int64
    let maximumByteCount: Int
    let context: BlobContext

    /// Starts an iteration, whose first step opens the reader.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(reader: ChunkReader(self)) }

    /// One pass over the chunks, which ends, once, with nil or with a ``BlobError``.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let reader: ChunkReader

        /// Returns the next chunk, of 1 byte to the maximum; nil at the end. Throws a ``BlobError``.
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
    /// Returns the bytes from `byteOffset` on, in chunks of at most `byteCount` bytes.
    ///
    /// - Parameters:
    ///   - byteCount: The maximum size of a chunk in bytes, from 1; by default 128 KiB. Any chunk may be shorter.
    ///   - byteOffset: The offset of the first byte.
    ///   - context: The context of each iteration.
    public func chunks(
        ofAtMost byteCount: Int = BlobChunks.defaultByteCount, at byteOffset: Int64 = 0,
        context: BlobContext = BlobContext()
    ) -> BlobChunks {
        precondition(byteCount > 0, "A chunk needs room for at least one byte.")
        return BlobChunks(source: self, byteOffset: byteOffset, maximumByteCount: byteCount, context: context)
    }
}
