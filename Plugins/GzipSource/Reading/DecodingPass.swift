import BlobInflate
import BlobStreams

/// Feeds a decoder from a reader of the compressed bytes.
final class DecodingPass {
    private let base: BlobGuardedReader
    private let locator: BlobLocator?
    private var decoder: FrameDecoder
    private var input: InputBuffer

    /// True once the format ended where the compressed bytes did, with all checks.
    private(set) var isAtEnd = false

    /// - Parameters:
    ///   - base: At the place where `decoder` goes on; this pass owns it now.
    ///   - locator: What the offsets of errors are offsets in.
    ///   - beginning: What was read of `base` already and is yet to be decoded.
    init(
        _ base: BlobGuardedReader, _ decoder: consuming FrameDecoder, locator: BlobLocator?,
        beginning: some Collection<UInt8> = EmptyCollection()
    ) {
        self.base = base
        self.decoder = decoder
        self.locator = locator
        self.input = InputBuffer(beginning: beginning)
    }

    /// How many compressed bytes were used, counted from the start of them all.
    var compressedByteOffset: Int64 { self.decoder.byteOffset }

    /// Begins at a restart point; the base is at the byte that the point is in.
    func resume(at point: RestartPoint, window: [UInt8]) throws {
        var firstByte: UInt8 = 0
        if point.bitOffset % 8 != 0 {
            try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
                guard try self.base.read(into: buffer) == 1 else {
                    throw BlobError(.truncated, "The compressed data end before a restart point of their index.")
                }
                firstByte = buffer[0]
            }
        }
        window.withUnsafeBytes { self.decoder.resume(at: point, firstByte: firstByte, window: $0) }
    }

    /// Decodes the next bytes: at least one, unless this is the end or an event-driven base has none for now.
    ///
    /// What was appended before an error is what the data say.
    func decode(into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        do {
            repeat {
                try self.decoder.decode(&self.input.rest, into: &output)
                // What there is comes first, before the base is made to wait for more.
                guard output.byteCount == start else { return }
            } while try self.refill(into: &output)
        } catch let error as BlobError where error.layers.isEmpty {
            // The decoder's own; those of the base have their context.
            var error = error
            error.locator = self.locator?.description
            throw error
        }
    }

    func close() { self.base.close() }

    /// Fetches compressed bytes; false at the end, or when an event-driven base has none for now.
    private func refill(into output: inout OutputRawSpan) throws -> Bool {
        try self.input.fill { try self.base.read(into: $0) }
        guard self.input.rest.isEmpty else { return true }
        guard self.base.hasEnded else { return false }
        let start = output.byteCount
        try self.decoder.flush(into: &output)
        guard output.byteCount == start else { return false }
        try self.decoder.finish()
        self.isAtEnd = true
        return false
    }
}
