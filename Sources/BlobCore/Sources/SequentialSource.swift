/// A source whose bytes come one after the other from the first: those before an offset are read and dropped.
///
/// Unless it is repeatable, its bytes can be read only once: the first opening takes them, and a second one throws
/// ``BlobError/Code/unsupported``. An opening that fails takes nothing.
public final class SequentialSource: NamedLayer {
    package let layer: String

    /// The locator that resolves to this source.
    public let locator: BlobLocator?

    /// The traits given.
    public let traits: BlobTraits
    private let info: BlobInfo
    private let isTaken = Locked(false)
    private let open: @Sendable (BlobContext) throws -> BlobBody

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - layer: The name of the source in errors.
    ///   - locator: The locator that resolves to this source; nil for none.
    ///   - info: The facts known before the opening.
    ///   - traits: The traits; by default, reads may block and the bytes can be read once.
    ///   - open: A closure that returns a body that starts at the first byte.
    public init(
        layer: String = "SequentialSource", locator: BlobLocator? = nil, info: BlobInfo = BlobInfo(),
        traits: BlobTraits = [], open: @escaping @Sendable (BlobContext) throws -> BlobBody
    ) {
        self.layer = layer
        self.locator = locator
        self.info = info
        self.traits = traits
        self.open = open
    }

    /// Returns the facts known before the opening.
    public func describe(_ context: BlobContext) -> BlobInfo { self.info }

    /// Hands out the bytes from the first on.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
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
