public import BlobPlatform

extension BlobInputStreamDataSource {
    /// Returns the bytes from `byteOffset` on, in chunks, with a demand of one chunk.
    ///
    /// Each iteration opens a reader of its own. A source that may block is opened and read on other threads, ahead of
    /// the consumer (``readingAhead(windowByteCounts:)``); a source that never blocks is read on the task's thread when
    /// a chunk is requested. Cancelling the task makes the iteration throw ``BlobError/Code/cancelled`` at once; the
    /// reader is closed as soon as its call returns. Leaving the loop closes it as well.
    ///
    /// ```swift
    /// var byteCount = 0
    /// for try await chunk in source.chunks(ofAtMost: 1 << 20) { byteCount += chunk.count }
    /// ```
    ///
    /// - Parameters:
    ///   - byteCount: The maximum size of a chunk in bytes, from 1; by default 128 KiB, where reading from the page
    ///     cache is fastest. Any chunk may be shorter, and has at least 1 byte.
    ///   - byteOffset: The offset of the first byte.
    ///   - context: The context of each iteration.
    public func chunks(
        ofAtMost byteCount: Int = 128 * 1024, at byteOffset: Int64 = 0, context: BlobContext = BlobContext()
    ) -> BlobSequence<Data, BlobError> {
        precondition(byteCount > 0, "A chunk needs room for at least one byte.")
        return BlobSequence {
            let reader = ChunkReader(self, at: byteOffset, byteCount, context)
            return { () async throws(BlobError) in try await reader.nextUnlessCancelled() }
        }
    }
}
