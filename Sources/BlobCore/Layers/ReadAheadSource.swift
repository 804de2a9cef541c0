extension BlobInputStreamDataSource {
    /// Returns this source with a layer that reads it on another thread, ahead of the consumer, and so makes a blocking
    /// source event-driven.
    ///
    /// A reader keeps up to two windows of bytes that were read ahead, besides the one that is being consumed: 64 KiB
    /// each at first, and up to 1 MiB each when the consumer waits for them. The memory exists only while it holds
    /// bytes or is being filled. A source whose readers never block is read in place. Over a source without
    /// `concurrentReaders`, a reader is still used by one thread at a time.
    ///
    /// ```swift
    /// let stream = BlobInputStream(source.readingAhead())
    /// ```
    ///
    /// - Parameter windowByteCounts: The size of the first window and of the largest, in bytes, from 1; by default
    ///   64 KiB and 1 MiB.
    public func readingAhead(
        windowByteCounts: ClosedRange<Int> = (64 * 1024)...(1024 * 1024)
    ) -> some BlobInputStreamDataSource {
        ReadAheadSource(self, windowByteCounts: windowByteCounts)
    }
}

/// A layer that reads its base on another thread, ahead of the consumer.
package struct ReadAheadSource: ForwardingSource, NamedLayer {
    package let base: any BlobInputStreamDataSource
    private let windowByteCounts: ClosedRange<Int>

    package init(
        _ base: any BlobInputStreamDataSource, windowByteCounts: ClosedRange<Int> = (64 * 1024)...(1024 * 1024)
    ) {
        precondition(windowByteCounts.lowerBound > 0, "A window needs room for at least one byte.")
        self.base = base
        self.windowByteCounts = windowByteCounts
    }

    package var layer: String { self.base.layerName }

    package var traits: BlobTraits { self.base.traits.union(.neverBlocks) }
    package var locator: BlobLocator? { self.base.locator }

    package func makeBody(_ opening: BlobOpening) -> BlobBody {
        let stream = ReadAheadStream(windowByteCounts: self.windowByteCounts, opening.context) { [base] context in
            try base.open(at: opening.byteOffset, matching: opening.validator, context: context)
        }
        return .stream(stream, startingAt: opening.byteOffset)
    }
}

extension ReadAheadSource: BlobLayer {
    package var underlying: any BlobInputStreamDataSource { self.base }
}
