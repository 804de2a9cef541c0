import BlobStreams
import Foundation

/// Standard input: read once, from where it is, cancellable while nothing comes.
public struct StandardInputSource: BlobInputStreamDataSource {
    private static let isTaken = Locked(false)

    /// Creates the source; all values are the same one.
    public init() {}

    /// None: its bytes pass by once.
    public var capabilities: BlobCapabilities { [] }

    /// `stdin:`
    public var locator: BlobLocator? { try? BlobLocator("stdin:") }

    /// Nothing is known of it.
    public func info(_ context: BlobContext) -> BlobInfo { BlobInfo(name: "stdin") }

    /// Takes standard input, which stays open when the reader closes.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` when it was taken before, or is a directory.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let info = self.info(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        let descriptor = try FileDescriptor(borrowing: STDIN_FILENO, named: "stdin")
        guard !descriptor.status.isDirectory else {
            throw BlobError(.unsupported, "Standard input is a directory.")
        }
        guard Self.isTaken.takeOnce() else {
            throw BlobError(.unsupported, "Standard input passes by once, and was taken already.")
        }
        return SkippingReader(SequentialReader(descriptor, info: info), bytesToSkip: byteOffset)
    }
}
