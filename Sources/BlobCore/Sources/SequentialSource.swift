/// A source of sequential bytes: the bytes before an offset are read and discarded.
///
/// Unless it is repeatable, its bytes can be read only once: the first opening consumes them, and a second opening
/// throws ``BlobError/Code/unsupported``. A failed opening consumes nothing.
public final class SequentialSource: NamedLayer {
    package let layer: String

    /// The locator that resolves to this source.
    public let locator: BlobLocator?

    /// The traits passed to the initialiser.
    public let traits: BlobTraits
    private let info: BlobInfo
    private let opening = SingleOpening()
    private let open: @Sendable (BlobContext) throws -> BlobBody

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - layer: The name of the source in errors.
    ///   - locator: The locator that resolves to this source; nil if it has none.
    ///   - info: The facts known before the opening.
    ///   - traits: The traits; by default, reads may block and the bytes can be read once.
    ///   - open: A closure that returns a body starting at the first byte.
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

    /// Returns a body with all bytes, from the first one on.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        try self.info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        if self.traits.contains(.repeatable) { return try self.open(opening.context) }
        return try self.opening.perform("This source can be read only once, and has already been opened.") {
            try self.open(opening.context)
        }
    }
}

/// The opening of a source that can be read only once.
package struct SingleOpening: Sendable {
    private let isUsed = Locked(false)

    package init() {}

    /// Calls `open`, unless the opening is already taken. A failed call does not take it, because nothing was read.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` with `refusal`, and the errors of `open`.
    package func perform<Body>(_ refusal: @autoclosure () -> String, _ open: () throws -> Body) throws -> Body {
        guard !self.isUsed.exchange(true) else { throw BlobError(.unsupported, refusal()) }
        do {
            return try open()
        } catch {
            self.reset()
            throw error
        }
    }

    /// Allows another opening.
    func reset() { _ = self.isUsed.exchange(false) }
}
