package import BlobCore

/// A source that cannot know before it opens that its readers never block.
package struct RefiningSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// - Parameter base: A source that never blocks.
    package init(base: any BlobInputStreamDataSource) { self.base = base }

    package func traits(over base: BlobTraits) -> BlobTraits { base.subtracting(.neverBlocks) }

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.base.open(opening), UnchangedBytes(), startingAt: opening.byteOffset)
    }
}
