import BlobInflate
import BlobStreams

/// Feeds a decoder from a reader of the compressed bytes.
final class DecodingPass {
    private let base: BlobGuardedReader
    private let locator: BlobLocator?
    private var decoder: FrameDecoder
    private var input: InputBuffer
    /// How many compressed bytes were given to the decoder, counted from the start of them all.
    private var given: Int64

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
        self.given = decoder.byteOffset
        self.decoder = decoder
        self.locator = locator
        self.input = InputBuffer(beginning: beginning)
    }

    /// How many compressed bytes were used, counted from the start of them all.
    var compressedByteOffset: Int64 { self.decoder.byteOffset }

    /// The sum of the frame that is being decoded, and whether it lacks what was in front of the restart point.
    var sum: (FrameSum, lacksBeginning: Bool) { (self.decoder.sum, self.decoder.lacksBeginning) }

    /// See ``FrameDecoder/remainder``.
    var remainder: FrameDecoder.Remainder? { self.decoder.remainder }

    /// Begins at a restart point; the base is at the byte that the point is in.
    ///
    /// - Parameter beginning: See ``FrameDecoder/resume(at:firstByte:window:beginning:)``.
    func resume(at point: RestartPoint, window: [UInt8], beginning: FrameSum? = nil) throws {
        var firstByte: UInt8 = 0
        if point.bitOffset % 8 != 0 {
            try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
                guard try self.base.read(into: buffer) == 1 else {
                    throw BlobError(.truncated, "The compressed data end before a restart point of their index.")
                }
                firstByte = buffer[0]
            }
        }
        window.withUnsafeBytes {
            self.decoder.resume(at: point, firstByte: firstByte, window: $0, beginning: beginning)
        }
        self.given = self.decoder.byteOffset
    }

    /// Decodes the next bytes: at least one, unless this is the end or an event-driven base has none for now.
    ///
    /// What was appended before an error is what the data say.
    func decode(into output: inout OutputRawSpan) throws {
        let start = output.byteCount
        try self.locatingErrors {
            repeat {
                try self.decodeInput(.max, into: &output)
                // What there is comes first, before the base is made to wait for more.
                guard output.byteCount == start else { return }
            } while try self.refill(into: &output)
        }
    }

    /// Decodes all that the compressed bytes in front of a restart point give, as far as there is room for it.
    ///
    /// - Parameter output: Has more room than is expected to be needed: an end is not seen without.
    /// - Returns: Whether this place is where the point should be: the same byte, behind data or behind a member. How many
    ///   bytes were appended is for the caller to compare.
    func decode(upTo point: RestartPoint, into output: inout OutputRawSpan) throws -> Bool {
        let end = (point.bitOffset + 7) / 8
        try self.locatingErrors {
            repeat {
                try self.decodeInput(end - self.given, into: &output)
            } while try output.freeCapacity > 0 && self.given < end && self.refill(into: &output)
        }
        guard self.given == end else { return false }
        return point.window == nil ? self.decoder.isBetweenMembers : self.decoder.isInData
    }

    func close() { self.base.close() }

    /// Decodes at most so many bytes of what was fetched.
    private func decodeInput(_ count: Int64, into output: inout OutputRawSpan) throws {
        var part = UnsafeRawBufferPointer(rebasing: self.input.rest.prefix(Int(clamping: max(count, 0))))
        let partCount = part.count
        defer {
            let used = partCount - part.count
            self.input.rest = UnsafeRawBufferPointer(rebasing: self.input.rest[used...])
            self.given += Int64(used)
        }
        try self.decoder.decode(&part, into: &output)
    }

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

    private func locatingErrors(_ body: () throws -> Void) throws {
        do {
            try body()
        } catch let error as BlobError where error.layers.isEmpty {
            // The decoder's own; those of the base have their context.
            var error = error
            error.locator = self.locator?.description
            throw error
        }
    }
}
