import BlobCore
internal import BlobIndex

/// A stream of bytes decoded with an index.
///
/// If the index turns out to describe other bytes, a body without an index continues.
final class IndexedStream: LateStream {
    let info: BlobInfo?

    private let index: GzipIndex
    private let opening: IndexedOpening
    private let pass: IndexedPass
    private let startOffset: Int64
    /// The offset at which another body continues; nil while the index may be correct.
    private var unindexedOffset: Int64?
    private let makeUnindexedBody: (BlobOpening) throws -> BlobBody

    /// - Parameters:
    ///   - byteOffset: An offset from 0 to the byte count of the index.
    ///   - end: The offset at which reading is expected to end; nil if unknown.
    ///   - makeUnindexedBody: Creates a body that does not use an index.
    init(
        _ index: GzipIndex, _ opening: IndexedOpening, info: BlobInfo, at byteOffset: Int64,
        expecting end: Int64?, makeUnindexedBody: @escaping (BlobOpening) throws -> BlobBody
    ) {
        self.index = index
        self.opening = opening
        self.pass = IndexedPass(index, opening, at: byteOffset, expecting: end)
        self.info = info
        self.startOffset = byteOffset
        self.makeUnindexedBody = makeUnindexedBody
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        try self.checkRatio()
        do {
            let result = try self.pass.read(into: &output)
            // A pass that does not begin at the start relies on the checksums of the index instead of the trailers.
            if result == .end, self.pass.isFromStart, self.startOffset == 0 {
                self.opening.source.reportEnd(byteCount: byteOffset, self.opening.context)
            }
            return result
        } catch let error where error.isContentError {
            let mismatch = error as? IndexMismatch
            // In a pass from the start, any other error comes from the data. Bytes delivered by a pass from another
            // offset depend on the index, so such a pass cannot continue without it.
            guard mismatch != nil || !self.pass.isFromStart, self.pass.isFromStart || byteOffset == self.startOffset
            else { throw mismatch?.error ?? error }
            try self.invalidate()
            self.unindexedOffset = byteOffset
            return .notYet
        }
    }

    func successor(isOpening: Bool) throws -> StartedStream? {
        guard let unindexedOffset else { return nil }
        let opening = BlobOpening(at: unindexedOffset, context: self.opening.context)
        return try self.makeUnindexedBody(opening).start(opening)
    }

    func close() { self.pass.close() }

    /// Checks the ratio of the number of bytes read to the number of compressed bytes in their slices.
    private func checkRatio() throws(BlobError) {
        guard self.opening.context.ratioLimit != nil else { return }
        let points = self.index.layout.points
        let (first, last) = (points.index(of: self.startOffset), points.index(of: self.pass.byteOffset))
        try self.opening.context.checkRatio(
            ofDecoded: self.pass.byteOffset - self.startOffset,
            to: points.compressedRange(of: last).upperBound - points.compressedRange(of: first).lowerBound)
    }

    /// Decodes everything without the index, and marks the index as wrong if the compressed data is intact.
    ///
    /// Throws if the data is damaged, or if its length differs from the index.
    private func invalidate() throws {
        self.pass.close()
        let base = try self.opening.openBase()
        defer { base.close() }
        let whole = DecodingPass(base, isBlocking: true, try self.opening.source.makeDecoder())
        let byteCount = try whole.drain(self.opening.context)
        self.index.invalidate()
        guard byteCount == self.index.layout.byteCount else {
            throw BlobError(
                .changed,
                "The index does not match the gzip data, which decodes to \(byteCount) bytes, and is no longer used.")
        }
    }
}

/// The parameters with which indexed readers open the compressed bytes.
struct IndexedOpening: Sendable {
    let source: GzipSource
    let baseValidator: BlobValidator?
    var context: BlobContext

    func openBase(at byteOffset: Int64 = 0) throws(BlobError) -> BlobReader {
        try self.source.base.open(at: byteOffset, matching: self.baseValidator, context: self.context)
    }
}
