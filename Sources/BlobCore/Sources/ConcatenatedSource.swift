/// A source that concatenates several sources.
///
/// Its length is known if the length of every part is known; it has random access if every part does. If the content
/// of a part changes after the opening, reading throws ``BlobError/Code/changed``, so the parts of one pass always
/// belong together: the info of every part is requested before the first byte.
///
/// ```swift
/// let whole = ConcatenatedSource([MemorySource(Data("Header\n".utf8)), source, other])
/// ```
public struct ConcatenatedSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source of the bytes of `parts` in order; an empty list results in an empty blob.
    public init(_ parts: [any BlobInputStreamDataSource]) { self.base = Parts(parts: parts) }
}

private struct Parts: NamedLayer {
    let layer = "ConcatenatedSource"
    let parts: [any BlobInputStreamDataSource]
    let opening = SingleOpening()

    var traits: BlobTraits {
        self.parts.reduce([.neverBlocks, .repeatable, .concurrentReaders]) { $0.intersection($1.traits) }
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        .joinedInfo(try self.parts.map { try $0.info(context) })
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let parts = self.parts.map { ($0, BlobInfo?.none) }
        guard !self.traits.contains(.repeatable) else { return .joined(parts) }
        // Refused now, not when a part that can be read only once is reached.
        return try self.opening.perform("A part of this source can be read only once, and has already been opened.") {
            let stream = JoinedStream(parts, nil, opening, onClose: self.opening.reset)
            return .stream(stream, startingAt: opening.byteOffset)
        }
    }
}
