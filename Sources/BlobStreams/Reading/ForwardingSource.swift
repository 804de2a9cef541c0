/// A source that stands on another one, and is as that one is in everything that it does not say itself.
///
/// For layers that pass on the bytes of their base. A decoder says most of it itself: that it may block, and what its
/// bytes are called.
package protocol ForwardingSource: BlobInputStreamDataSource {
    /// The source below.
    var base: any BlobInputStreamDataSource { get }
}

extension ForwardingSource {
    /// True when the base never blocks.
    public var neverBlocks: Bool { self.base.neverBlocks }

    /// The abilities of the base.
    public var capabilities: BlobCapabilities { self.base.capabilities }

    /// The locator of the base: the bytes are the same.
    public var locator: BlobLocator? { self.base.locator }

    /// The facts known about the base.
    public func info(_ context: BlobContext) throws -> BlobInfo { try self.base.checkedInfo(context) }

    /// Opens a reader of the base.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.base.openReader(at: byteOffset, matching: validator, context: context)
    }
}
