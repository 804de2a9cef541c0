/// A source that stands on another one, and is as that one is in everything that it does not say itself.
///
/// For layers that pass on the bytes of their base. A decoder says most of it itself: that it may block, and what its
/// bytes are called.
package protocol ForwardingSource: BlobInputStreamDataSource {
    /// The source below.
    var base: any BlobInputStreamDataSource { get }
}

extension ForwardingSource {
    /// The traits of the base.
    public var traits: BlobTraits { self.base.traits }

    /// The locator of the base: the bytes are the same.
    public var locator: BlobLocator? { self.base.locator }

    /// The facts known about the base.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.base.info(context) }

    /// Opens a reader of the base.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.base.makeReader(at: byteOffset, matching: validator, context: context)
    }
}
