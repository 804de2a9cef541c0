/// Bytes that a closure reads at any offset: a device, a database, a generator.
public struct ClosureSource: BlobInputStreamDataSource {
    /// Appends bytes from an offset: at least one below the byte count; nothing is the end when the length is unknown.
    ///
    /// May block; then it should do so through the context, so that it can be cancelled. Called on several threads at
    /// once when several readers are open.
    public typealias ReadAt = @Sendable (Int64, inout OutputRawSpan, BlobContext) throws -> Void

    private var info: BlobInfo
    private let readAt: ReadAt

    /// Creates a source.
    ///
    /// - Parameters:
    ///   - info: What the source says of itself; a byte count is a promise.
    ///   - readAt: Reads at an offset, from 0.
    public init(info: BlobInfo = BlobInfo(), readAt: @escaping ReadAt) {
        self.info = info
        self.info.isRandomAccess = true
        self.readAt = readAt
    }

    /// Repeatable, with concurrent readers: the closure takes any offset, any time.
    public var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    /// What it was created with.
    public func describe(_ context: BlobContext) -> BlobInfo { self.info }

    /// Opens a reader.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let hasKnownLength = self.info.byteCount != nil
        return try PositionalReader(self.info, at: byteOffset, matching: validator) { offset, output in
            let count = try output.append(atMost: .max) { try self.readAt(offset, &$0, context) }
            guard count == 0, !hasKnownLength, offset == byteOffset, offset > 0 else { return }
            // Nothing at the first offset: is that the end, or past it? The byte before knows.
            let before = try output.append(atMost: 1) { try self.readAt(offset - 1, &$0, context) }
            output.removeLast(before)
            if before == 0 { throw BlobError(.invalidArgument, "The offset \(offset) is past the end.") }
        }
    }
}
