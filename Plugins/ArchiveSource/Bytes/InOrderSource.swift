import BlobCore

/// A source that is read from beginning to end, although it has random access.
struct InOrderSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource

    func describe(_ context: BlobContext) throws -> BlobInfo {
        try self.underlying.info(context).inOrder
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.underlying.open(opening), InOrderBytes(), startingAt: opening.byteOffset)
    }
}

/// An inspector that hides random access, and passes all bytes through.
private struct InOrderBytes: BlobInspector {
    func info(of base: BlobInfo) -> BlobInfo { base.inOrder }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}

extension BlobInfo {
    /// A copy of this info without random access.
    var inOrder: BlobInfo {
        var info = self
        info.isRandomAccess = false
        return info
    }
}
