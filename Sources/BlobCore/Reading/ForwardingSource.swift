/// A source over another one, to which it forwards everything that it does not implement itself.
///
/// For layers that pass on the bytes of their base: they change the info, the traits or the reader.
package protocol ForwardingSource: BlobInputStreamDataSource {
    /// The underlying source.
    var base: any BlobInputStreamDataSource { get }

    /// Returns the traits of the layer, given those of the base.
    func traits(over base: BlobTraits) -> BlobTraits

    /// Returns the info of the layer, given that of the base.
    func info(over base: BlobInfo) throws -> BlobInfo

    /// Opens a reader of the layer.
    func reader(at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext) throws
        -> any BlobPluginReader
}

extension ForwardingSource {
    package func traits(over base: BlobTraits) -> BlobTraits { base }
    package func info(over base: BlobInfo) throws -> BlobInfo { base }
    package func reader(
        at byteOffset: Int64, matching validator: BlobValidator?, _ context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.base.makeReader(at: byteOffset, matching: validator, context: context)
    }

    /// The traits of the base, unless the layer has others.
    public var traits: BlobTraits { self.traits(over: self.base.traits) }

    /// The locator of the base.
    public var locator: BlobLocator? { self.base.locator }

    /// Returns the info of the base, as the layer changes it.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        // Errors name a base that stands for this source once.
        let isSameLayer = self.base.layerName == self.layerName
        return try self.info(over: isSameLayer ? self.base.describe(context) : self.base.info(context))
    }

    /// Opens a reader.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.reader(at: byteOffset, matching: validator, context)
    }
}
