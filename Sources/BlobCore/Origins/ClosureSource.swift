/// Bytes that a closure reads at any offset: a device, a database, a generator.
///
/// ```swift
/// let squares = ClosureSource(info: BlobInfo(byteCount: 256)) { byteOffset, output, _ in
///     output.append(UInt8(truncatingIfNeeded: byteOffset * byteOffset))
/// }
/// ```
public struct ClosureSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source with random access.
    ///
    /// - Parameters:
    ///   - info: The facts about the bytes; a byte count is a promise.
    ///   - readAt: Appends bytes from an offset: at least one below the byte count; nothing is the end when the length is
    ///     unknown. May block, and then does so through the context, so that it can be cancelled. Called on several
    ///     threads at once when several readers are open.
    public init(
        info: BlobInfo = BlobInfo(),
        readAt: @escaping @Sendable (_ byteOffset: Int64, inout OutputRawSpan, BlobContext) throws -> Void
    ) {
        let hasKnownLength = info.byteCount != nil
        self.base = PositionalSource("ClosureSource", info, [.repeatable, .concurrentReaders]) {
            offset, output, isFirst, context in
            let count = try output.append(atMost: .max) { try readAt(offset, &$0, context) }
            guard count == 0, !hasKnownLength, isFirst, offset > 0 else { return }
            // Nothing at the first offset: is that the end, or past it? The byte before knows.
            let before = try output.append(atMost: 1) { try readAt(offset - 1, &$0, context) }
            output.removeLast(before)
            if before == 0 { throw BlobError(.invalidArgument, "The offset \(offset) is past the end.") }
        }
    }
}
