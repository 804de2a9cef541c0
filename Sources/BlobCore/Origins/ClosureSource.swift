/// A source of bytes that a closure reads at any offset, such as a device, a database or a generator.
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
    ///   - info: The info of the source; a declared byte count is binding.
    ///   - readAt: A closure that appends bytes from an offset, from 0: at least one below the byte count. When the
    ///     length is unknown, appending none means the end. May block, and then should do so through the context, so
    ///     that it can be cancelled. Called on several threads at once when several readers are open.
    public init(
        info: BlobInfo = BlobInfo(),
        readAt: @escaping @Sendable (_ byteOffset: Int64, inout OutputRawSpan, BlobContext) throws -> Void
    ) {
        let byteCount = info.byteCount
        self.base = PositionalSource("ClosureSource", info, [.repeatable, .concurrentReaders]) {
            offset, output, isFirst, context in
            guard offset != byteCount else { return }
            let count = try output.append(atMost: .max) { try readAt(offset, &$0, context) }
            guard count == 0, byteCount == nil, isFirst, offset > 0 else { return }
            // No bytes at the first offset mean the end or an offset past it; the byte before it decides.
            let before = try output.append(atMost: 1) { try readAt(offset - 1, &$0, context) }
            output.removeLast(before)
            if before == 0 { throw BlobError(.invalidArgument, "The offset \(offset) is past the end.") }
        }
    }
}
