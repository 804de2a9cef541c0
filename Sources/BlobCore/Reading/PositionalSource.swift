/// A source over a function that reads at any offset.
final class PositionalSource: NamedLayer {
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
