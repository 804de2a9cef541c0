/// A source whose bytes pass by once: opening takes them, a second opening is refused.
package struct OneShotSource: BlobInputStreamDataSource {
    package let layerName: String
    package let locator: BlobLocator?
    package let neverBlocks: Bool
    package var capabilities: BlobCapabilities { [] }
    private let info: BlobInfo
    private let isTaken = Locked(false)
    private let open: @Sendable (BlobContext) throws -> any BlobReader

    package init(
        layerName: String, locator: BlobLocator? = nil, info: BlobInfo, neverBlocks: Bool = false,
        open: @escaping @Sendable (BlobContext) throws -> any BlobReader
    ) {
        self.layerName = layerName
        self.locator = locator
        self.neverBlocks = neverBlocks
        self.info = info
        self.open = open
    }

    package func info(_ context: BlobContext) -> BlobInfo { self.info }

    package func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.info.check(byteOffset: byteOffset, matching: validator)
        guard self.isTaken.takeOnce() else {
            throw BlobError(.unsupported, "The bytes of this source pass by once, and were taken already.")
        }
        let reader = try self.open(context)
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }
}
