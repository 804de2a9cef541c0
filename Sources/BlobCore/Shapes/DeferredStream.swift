/// The stream of a deferred body, until it is made.
final class DeferredStream: LateStream, StreamOverReader {
    private let base: BlobReader
    private let byteCount: Int
    private let opening: BlobOpening
    private let makeBody: (BlobInfo, RawSpan) throws -> BlobBody

    init(
        _ base: BlobReader, peeking byteCount: Int, _ opening: BlobOpening,
        _ makeBody: @escaping (BlobInfo, RawSpan) throws -> BlobBody
    ) {
        (self.base, self.byteCount, self.opening, self.makeBody) = (base, byteCount, opening, makeBody)
        base.absorb(into: opening.context)
    }

    var info: BlobInfo? { nil }
    var reader: BlobReader? { self.base }
    var neverBlocks: Bool { self.base.neverBlocks }
    var readiness: BlobWakerSlot? { self.base.readiness }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) -> BlobReadResult { .notYet }

    func successor(isOpening: Bool) throws -> StartedStream? {
        guard !isOpening || self.byteCount == 0 else { return nil }
        guard let info = try self.base.knownInfo() else { return nil }
        guard let bytes = try self.base.peek(self.byteCount) else { return nil }
        let body = try bytes.withUnsafeBytes { try self.makeBody(info, RawSpan(_unsafeBytes: $0)) }
        return try body.start(self.opening)
    }

    func close() { self.base.close() }
}
