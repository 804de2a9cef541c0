import BlobPlatform

/// A source of bytes in memory.
///
/// ```swift
/// let source = MemorySource(Data("Hello".utf8), mediaType: "text/plain", name: "greeting.txt")
/// let copy = try source.data(upTo: 1024)
/// ```
public struct MemorySource: ForwardingSource {
    private static let nextIdentity = Locked(0)

    package let base: any BlobInputStreamDataSource

    /// Creates a source of `bytes`, which are not copied if they are `Data`.
    ///
    /// - Parameters:
    ///   - bytes: The bytes.
    ///   - mediaType: The media type, if known.
    ///   - name: A name for display and for forms.
    ///   - validator: The identity of the bytes; nil, the default, creates a strong validator that is unique to this
    ///     source.
    public init(
        _ bytes: some Sequence<UInt8>, mediaType: String? = nil, name: String? = nil, validator: BlobValidator? = nil
    ) {
        let data = bytes as? Data ?? Data(bytes)
        let info = BlobInfo(
            byteCount: Int64(data.count), mediaType: mediaType, name: name, validator: validator ?? Self.identity())
        self.base = PositionalSource("MemorySource", info, [.neverBlocks, .repeatable, .concurrentReaders]) {
            offset, output, _, _ in
            data.withUnsafeBytes { bytes in
                _ = output.append(contentsOf: UnsafeRawBufferPointer(rebasing: bytes[Int(offset)...]))
            }
        }
    }

    /// Returns a new identity. The bytes never change, so uniqueness within this process suffices for a strong
    /// validator.
    private static func identity() -> BlobValidator {
        let number = self.nextIdentity.withLock { identity in
            identity += 1
            return identity
        }
        return .strong("memory-\(getpid())-\(number)")
    }
}

/// A source of bytes that a closure reads at any offset, such as from a device, a database or a generator.
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
    ///   - readAt: A closure that appends bytes from an offset, which is at least 0. Below the byte count, it must
    ///     append at least one byte; if the length is unknown, appending none means the end. It may block, and should
    ///     then do so through the context, so that it can be cancelled. Called on several threads at once if several
    ///     readers are open.
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
            // No bytes at the first offset mean the end or an offset past it; reading the byte before decides.
            let before = try output.append(atMost: 1) { try readAt(offset - 1, &$0, context) }
            output.removeLast(before)
            if before == 0 { throw BlobError(.invalidArgument, "The offset \(offset) is past the end.") }
        }
    }
}

/// A source over a function that reads at any offset.
private final class PositionalSource: NamedLayer {
    typealias ReadAt =
        @Sendable (
            _ byteOffset: Int64, _ output: inout OutputRawSpan, _ isFirst: Bool, BlobContext
        ) throws -> Void

    let layer: String
    let traits: BlobTraits
    private let info: BlobInfo
    private let readAt: ReadAt

    /// Creates a source.
    ///
    /// - Parameter readAt: A function that appends bytes from an offset; it appends none only at the end. `isFirst` is
    ///   true at the offset at which the reader was opened.
    init(_ layer: String, _ info: BlobInfo, _ traits: BlobTraits, _ readAt: @escaping ReadAt) {
        var info = info
        info.isRandomAccess = true
        (self.layer, self.info, self.traits, self.readAt) = (layer, info, traits, readAt)
    }

    func describe(_ context: BlobContext) -> BlobInfo { self.info }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        let readAt = self.readAt
        return .positional(self.info) { try readAt($0, &$1, $0 == opening.byteOffset, opening.context) }
    }
}
