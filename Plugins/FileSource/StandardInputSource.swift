public import BlobCore
import BlobPlatform

/// The bytes of standard input, from its current position on.
///
/// They can be read once. A read can be cancelled while no bytes arrive.
public struct StandardInputSource: BlobInputStreamDataSource {
    private static let isTaken = Locked(false)

    /// Creates the source. All values stand for the same standard input.
    public init() {}

    /// None, because the bytes can be read only once.
    public var traits: BlobTraits { [] }

    /// The locator `stdin:`.
    public var locator: BlobLocator? { try? BlobLocator("stdin:") }

    /// Returns an info with the name `stdin` and no length.
    public func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(name: "stdin") }

    /// Opens standard input, which stays open when the reader is closed.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` when it was opened before, or is a directory.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let info = self.describe(opening.context)
        try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        let descriptor = try FileDescriptor(borrowing: STDIN_FILENO, named: "stdin")
        guard !descriptor.status.isDirectory else {
            throw BlobError(.unsupported, "Standard input is a directory.")
        }
        guard !Self.isTaken.exchange(true) else {
            throw BlobError(.unsupported, "Standard input can be read only once, and was opened before.")
        }
        return .stream(SequentialStream(descriptor, info: info), startingAt: 0)
    }
}
