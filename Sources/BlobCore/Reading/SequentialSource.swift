/// A source whose bytes come one after the other from the first: those before an offset are read and dropped.
///
/// Unless it is repeatable, its bytes can be read only once: the first opening takes them, and a second one is refused.
package final class SequentialSource: NamedLayer {
    package let layer: String
    package let locator: BlobLocator?
    package let traits: BlobTraits
    private let info: BlobInfo
    private let isTaken = Locked(false)
    private let open: @Sendable (BlobContext) throws -> BlobBody

    /// - Parameter open: Returns a body that starts at the first byte.
    package init(
        layer: String = "SequentialSource", locator: BlobLocator? = nil, info: BlobInfo,
        traits: BlobTraits = [],
        open: @escaping @Sendable (BlobContext) throws -> BlobBody
    ) {
        self.layer = layer
        self.locator = locator
        self.info = info
        self.traits = traits
        self.open = open
    }

    package func describe(_ context: BlobContext) -> BlobInfo { self.info }

    package func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        guard self.traits.contains(.repeatable) || !self.isTaken.exchange(true) else {
            throw BlobError(.unsupported, "This source can be read only once, and was opened already.")
        }
        do {
            return try self.open(opening.context)
        } catch {
            // Nothing was read: the next opening may succeed.
            if !self.traits.contains(.repeatable) { _ = self.isTaken.exchange(false) }
            throw error
        }
    }
}
