import BlobCore

/// A source that is read from beginning to end, although it has random access.
struct InOrderSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource

    var traits: BlobTraits { self.underlying.traits }
    var locator: BlobLocator? { self.underlying.locator }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        var info = try self.underlying.info(context)
        info.isRandomAccess = false
        return info
    }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let reader = try self.underlying.open(at: byteOffset, matching: validator, context: context)
        return InOrderReader(reader)
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

private final class InOrderReader: BlobPluginReader {
    let info: BlobInfo
    private let base: BlobReader

    init(_ base: BlobReader) {
        var info = base.info
        info.isRandomAccess = false
        self.info = info
        self.base = base
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }
    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
    func close() { self.base.close() }
}
