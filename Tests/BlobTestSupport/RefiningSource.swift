package import BlobCore

/// A source that cannot know before it opens that its readers never block.
package struct RefiningSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// - Parameter base: A source that never blocks.
    package init(base: any BlobInputStreamDataSource) { self.base = base }

    package func traits(over base: BlobTraits) -> BlobTraits { base.subtracting(.neverBlocks) }

    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.base.open(at: byteOffset, matching: validator, context: context)
    }
}
