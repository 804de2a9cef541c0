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

extension ArchiveFormat {
    /// Returns the source from which an archive of this format is read, and true when it has random access, although its
    /// members are to be read in order: the bytes of a xar are in any order.
    func sourceInOrder(
        _ base: any BlobInputStreamDataSource
    ) -> (source: any BlobInputStreamDataSource, isInOrder: Bool) {
        guard self == .xar, let inOrder = base as? InOrderSource else { return (base, false) }
        return (inOrder.underlying, true)
    }
}

/// Hides random access, and passes all bytes.
private struct InOrderBytes: BlobInspector {
    func info(of base: BlobInfo) -> BlobInfo { base.inOrder }

    func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
}

extension BlobInfo {
    /// This info without random access.
    var inOrder: BlobInfo {
        var info = self
        info.isRandomAccess = false
        return info
    }
}
