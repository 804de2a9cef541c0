/// A source whose readers begin at the first byte: the bytes before an offset are read and dropped.
///
/// Unless it is repeatable, its bytes can be read only once: the first opening takes them, and a second one is refused.
package final class SequentialSource: NamedLayer {
    package let layer: String
    package let locator: BlobLocator?
    package let traits: BlobTraits
    private let info: BlobInfo
    private let isTaken = Locked(false)
    private let open: @Sendable (BlobContext) throws -> any BlobPluginReader

    package init(
        layer: String = "SequentialSource", locator: BlobLocator? = nil, info: BlobInfo,
        traits: BlobTraits = [],
        open: @escaping @Sendable (BlobContext) throws -> any BlobPluginReader
    ) {
        self.layer = layer
        self.locator = locator
        self.info = info
        self.traits = traits
        self.open = open
    }

    package func describe(_ context: BlobContext) -> BlobInfo { self.info }

    package func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.info.check(byteOffset: byteOffset, matching: validator)
        guard self.traits.contains(.repeatable) || !self.isTaken.exchange(true) else {
            throw BlobError(.unsupported, "This source can be read only once, and was opened already.")
        }
        let reader = try self.open(context)
        return reader.skipping(byteOffset)
    }
}
