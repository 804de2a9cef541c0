import BlobInflate
import BlobStreams

/// Feeds a decoder from a reader of the compressed bytes.
final class DecodingPass {
    private let base: BlobGuardedReader
    private let waits: Bool
    private let locator: BlobLocator?
    private var decoder: FrameDecoder
    private var input: InputBuffer
    /// How many compressed bytes were given to the decoder, counted from the start of them all.
    private var given: Int64

    /// True once the format ended where the compressed bytes did, with all checks.
    private(set) var isAtEnd = false

    /// - Parameters:
    ///   - base: At the place where `decoder` goes on; this pass owns it now.
    ///   - waits: Whether to wait while the base has nothing for now.
    ///   - locator: What the offsets of errors are offsets in.
    ///   - beginning: What was read of `base` already and is yet to be decoded.
    init(
        _ base: BlobGuardedReader, waits: Bool, _ decoder: consuming FrameDecoder, locator: BlobLocator?,
        beginning: some Collection<UInt8> = EmptyCollection()
    ) {
        self.base = base
        self.waits = waits
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
                guard try self.base.readWaiting(into: buffer) == 1 else {
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

    /// Decodes the next bytes, as a read does.
    ///
    /// What was appended before an error is what the data say.
    @discardableResult
    func decode(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        return try self.locatingErrors {
            var result = BlobReadResult.bytes
            while result == .bytes {
                try self.decodeInput(.max, into: &output)
                // What there is comes first, before the base is asked for more.
                if output.byteCount > start { return .bytes }
                result = try self.refill(into: &output)
            }
            return output.byteCount > start ? .bytes : result
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
            } while try output.freeCapacity > 0 && self.given < end && self.refill(into: &output) == .bytes
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

    /// Fetches compressed bytes; at their end, hands out what was held back.
    private func refill(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let result = try self.input.fill { try self.base.read(into: &$0, waits: self.waits) }
        guard result == .end else { return result }
        let start = output.byteCount
        try self.decoder.flush(into: &output)
        guard output.byteCount == start else { return .end }
        try self.decoder.finish()
        self.isAtEnd = true
        return .end
    }

    private func locatingErrors<Result>(_ body: () throws -> Result) throws -> Result {
        do {
            return try body()
        } catch let error as BlobError where error.layers.isEmpty {
            // The decoder's own; those of the base have their context.
            var error = error
            error.locator = self.locator?.description
            throw error
        }
    }
}

extension BlobGuardedReader {
    /// Reads the next bytes, waiting for them or not.
    func read(into output: inout OutputRawSpan, waits: Bool) throws -> BlobReadResult {
        try waits ? self.readWaiting(into: &output) : self.read(into: &output)
    }
}
