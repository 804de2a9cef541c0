/// A source whose readers begin at the first byte: the bytes before an offset are read and dropped.
///
/// Its bytes pass by once, so that opening takes them and a second opening is refused, unless it is repeatable.
package final class SequentialSource: BlobInputStreamDataSource {
    package let layerName: String
    package let locator: BlobLocator?
    package let neverBlocks: Bool
    private let info: BlobInfo
    private let isRepeatable: Bool
    private let isTaken = Locked(false)
    private let open: @Sendable (BlobContext) throws -> any BlobReader

    package init(
        layerName: String = "SequentialSource", locator: BlobLocator? = nil, info: BlobInfo,
        isRepeatable: Bool = false, neverBlocks: Bool = false,
        open: @escaping @Sendable (BlobContext) throws -> any BlobReader
    ) {
        self.layerName = layerName
        self.locator = locator
        self.info = info
        self.isRepeatable = isRepeatable
        self.neverBlocks = neverBlocks
        self.open = open
    }

    /// A repeatable one has readers side by side, as each begins anew.
    package var capabilities: BlobCapabilities { self.isRepeatable ? [.repeatable, .concurrentReaders] : [] }

    package func info(_ context: BlobContext) -> BlobInfo { self.info }

    package func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try self.info.check(byteOffset: byteOffset, matching: validator)
        guard self.isRepeatable || self.isTaken.takeOnce() else {
            throw BlobError(.unsupported, "The bytes of this source pass by once, and were taken already.")
        }
        let reader = try self.open(context)
        return byteOffset == 0 ? reader : SkippingReader(reader, bytesToSkip: byteOffset)
    }
}
