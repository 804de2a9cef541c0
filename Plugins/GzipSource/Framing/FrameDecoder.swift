import BlobInflate
import BlobStreams

/// Decodes compressed bytes with what is around them: headers, trailers, further members, and the rules for the end.
///
/// A state machine that does no I/O: bytes in, bytes and verdicts out.
struct FrameDecoder: ~Copyable {
    private enum Phase {
        case gzipHeader(GzipHeader)
        case zlibHeader(ZlibHeader)
        case data
        case checksum(NumberField)
        /// ISIZE of RFC 1952.
        case byteCount(NumberField)
        /// Behind a gzip member: the next one, padding, or the end.
        case gap
        /// Zero bytes behind the last gzip member.
        case padding
        /// Behind what has neither members nor padding.
        case done

        /// In front of what the format begins with.
        init(beginning format: GzipSource.Format) {
            switch format {
            case .gzip: self = .gzipHeader(GzipHeader())
            case .zlib: self = .zlibHeader(ZlibHeader())
            case .deflate: self = .data
            }
        }
    }

    private let format: GzipSource.Format
    private var phase: Phase
    private var inflater: Inflater
    private var isFirstMember = true
    /// What the inflater took of what follows the data.
    private var surplus = Inflater.Surplus()

    /// How many bytes of input were used, counted from the start of the compressed data.
    private(set) var byteOffset: Int64 = 0

    /// How many members ended, with all their checks.
    private(set) var memberCount = 0

    /// The sum of the current frame: of all its bytes so far, or of those behind the restart point.
    private(set) var sum: FrameSum

    /// Whether ``sum`` lacks the bytes of its frame in front of the restart point.
    private(set) var lacksBeginning = false

    /// The end of the frame whose beginning was not known; nil before.
    private(set) var remainder: Remainder?

    /// The part of a frame behind a restart point, and its trailer: to be compared by whoever knows the part before.
    struct Remainder: Sendable {
        let sum: FrameSum
        let checksum: UInt32
        /// Of a gzip member, modulo 2^32.
        var byteCount: UInt32?
        /// Where the checksum is in the compressed data.
        let byteOffset: Int64

        /// - Parameter beginning: The sum of the bytes before.
        func check(behind beginning: FrameSum) throws(BlobError) {
            var sum = beginning
            sum.append(self.sum)
            try sum.check(checksum: self.checksum, at: self.byteOffset)
            if let byteCount { try sum.check(byteCount: byteCount, at: self.byteOffset + 4) }
        }
    }

    /// Notes where decoding could begin again.
    private let recorder: PointRecorder?

    /// Begins in front of the first byte.
    init(
        _ format: GzipSource.Format, library: InflateLibrary = .isal, recorder: PointRecorder? = nil
    ) throws(BlobError) {
        self.format = format
        self.recorder = recorder
        self.inflater = try Inflater(library)
        self.sum = FrameSum(format)
        self.phase = Phase(beginning: format)
    }

    /// Begins at a restart point.
    ///
    /// - Parameters:
    ///   - firstByte: The byte of the compressed data that the point is within; not part of the input to come. Means
    ///     nothing when the point lies between two bytes.
    ///   - window: That of the point.
    ///   - beginning: The sum of what the frame that the point is within has before it. Without it, what belongs to its
    ///     trailer becomes the ``remainder``.
    mutating func resume(
        at point: RestartPoint, firstByte: UInt8, window: UnsafeRawBufferPointer, beginning: FrameSum? = nil
    ) {
        let bit = Int(point.bitOffset % 8)
        self.byteOffset = (point.bitOffset + 7) / 8
        self.surplus = Inflater.Surplus()
        self.isFirstMember = point.bitOffset == 0
        self.remainder = nil
        self.lacksBeginning = false
        guard point.window != nil else {
            self.inflater.reset()
            self.sum = FrameSum(self.format)
            // Behind a member there may also be nothing more.
            self.phase = self.format == .gzip && !self.isFirstMember ? .gap : Phase(beginning: self.format)
            return
        }
        self.inflater.resume(bits: bit == 0 ? 0 : firstByte >> UInt8(bit), bitCount: (8 - bit) % 8, window: window)
        self.sum = beginning ?? FrameSum(self.format)
        self.lacksBeginning = beginning == nil
        self.phase = .data
    }

    /// Whether everything so far makes whole members, of a gzip.
    var isBetweenMembers: Bool { if case .gap = self.phase { self.surplus.count == 0 } else { false } }

    /// Whether deflate data are being decoded.
    var isInData: Bool { if case .data = self.phase { true } else { false } }

    /// Decodes until `input` is used up or `output` is full.
    ///
    /// To be called also with an empty input after the output was full: there may be more to come of what was used.
    ///
    /// - Parameters:
    ///   - input: What comes next; what was used is gone from its front.
    ///   - output: Has room. Appended to; what was appended before an error is what the data say.
    /// - Throws: What is wrong, with its offset in the input.
    mutating func decode(_ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan) throws(BlobError) {
        while output.freeCapacity > 0 {
            if case .data = self.phase {
                if try self.decodeData(&input, into: &output) {
                    self.phase = self.format == .deflate ? .done : .checksum(NumberField())
                } else if input.isEmpty {
                    return
                }
            } else {
                if case .padding = self.phase { self.skipZeros(&input) }
                let ahead = self.surplus.popFirst()
                guard let byte = ahead ?? input.first else { return }
                do {
                    try self.take(byte)
                } catch {
                    var error = error
                    error.byteOffset = error.byteOffset ?? self.byteOffset
                    throw error
                }
                self.byteOffset += 1
                if ahead == nil { input = UnsafeRawBufferPointer(rebasing: input[1...]) }
            }
        }
    }

    /// To be called when there is no more input: is this where the format ends?
    ///
    /// - Throws: ``BlobError/Code/truncated``.
    func finish() throws(BlobError) {
        let place: String
        switch self.phase {
        case .gap, .padding, .done: return
        case .gzipHeader, .zlibHeader: place = "in its header"
        case .data: place = "in its data"
        case .checksum, .byteCount: place = "in its trailer"
        }
        let message =
            self.byteOffset == 0
            ? "There are no bytes at all, which is no \(self.format.rawValue)."
            : "The \(self.format.rawValue) ends \(place), before its end."
        throw BlobError(.truncated, message, byteOffset: self.byteOffset)
    }

    /// True at the end of the data.
    private mutating func decodeData(
        _ input: inout UnsafeRawBufferPointer, into output: inout OutputRawSpan
    ) throws(BlobError) -> Bool {
        let given = input
        let outputCount = output.byteCount
        let stop: Inflater.Stop
        do {
            stop = try self.inflater.decode(
                &input, into: &output, stoppingAtBlockEnds: self.recorder?.wantsBlockEnd ?? false)
        } catch {
            var error = error
            error.byteOffset = self.byteOffset + Int64(given.count - input.count)
            throw error
        }
        self.byteOffset += Int64(given.count - input.count)
        let isAtEnd = stop == .streamEnd
        if isAtEnd {
            self.surplus = self.inflater.surplus
            self.byteOffset -= Int64(self.surplus.count)
        }
        output.bytes.withUnsafeBytes { bytes in
            let decoded = UnsafeRawBufferPointer(rebasing: bytes[outputCount...])
            self.sum.update(decoded)
            self.recorder?.take(UnsafeRawBufferPointer(rebasing: given[..<(given.count - input.count)]))
            self.recorder?.append(decoded)
        }
        if let recorder, stop == .blockEnd {
            self.inflater.withWindow { recorder.blockEnds(self.inflater.blockEnd, at: self.byteOffset, window: $0) }
        }
        if isAtEnd {
            self.recorder?.dataEnd()
            if self.format != .gzip { self.recorder?.memberEnds() }
        }
        return isAtEnd
    }

    /// To be called when there is no more input, before ``finish()``: hands out what was held back in the search for
    /// the end of a block.
    mutating func flush(into output: inout OutputRawSpan) throws(BlobError) {
        guard case .data = self.phase, self.recorder?.wantsBlockEnd ?? false else { return }
        self.recorder?.stopSearching()
        var input = UnsafeRawBufferPointer(start: nil, count: 0)
        try self.decode(&input, into: &output)
    }

    /// Takes a byte of anything but data.
    private mutating func take(_ byte: UInt8) throws(BlobError) {
        switch self.phase {
        case .gzipHeader(var header):
            if !self.isFirstMember, header.isBeforeMethod, byte != GzipHeader.identification[1] {
                throw self.trailingData(at: self.byteOffset - 1)
            }
            self.phase = try header.take(byte) ? .data : .gzipHeader(header)
        case .zlibHeader(var header): self.phase = try header.take(byte) ? .data : .zlibHeader(header)
        case .checksum(var field):
            let isComplete = self.format == .zlib ? field.takeHighestFirst(byte) : field.takeLowestFirst(byte)
            guard isComplete else { return self.phase = .checksum(field) }
            try self.checkChecksum(field.value)
            self.phase = self.format == .zlib ? .done : .byteCount(NumberField())
        case .byteCount(var field):
            guard field.takeLowestFirst(byte) else { return self.phase = .byteCount(field) }
            try self.checkByteCount(field.value)
            self.isFirstMember = false
            self.memberCount += 1
            self.recorder?.memberEnds()
            self.phase = .gap
        case .gap:
            switch byte {
            case 0: self.phase = .padding
            case GzipHeader.identification[0]: try self.beginMember(byte)
            default: throw self.trailingData(at: self.byteOffset)
            }
        case .padding, .done: throw self.trailingData(at: self.byteOffset)
        case .data: preconditionFailure("Data are decoded elsewhere.")
        }
    }

    private mutating func beginMember(_ firstByte: UInt8) throws(BlobError) {
        self.inflater.reset()
        self.sum = FrameSum(self.format)
        self.recorder?.memberBegins(at: self.byteOffset)
        var header = GzipHeader()
        _ = try header.take(firstByte)
        self.phase = .gzipHeader(header)
    }

    private mutating func checkChecksum(_ expected: UInt32) throws(BlobError) {
        let place = self.byteOffset - 3
        guard self.lacksBeginning else { return try self.sum.check(checksum: expected, at: place) }
        self.remainder = Remainder(sum: self.sum, checksum: expected, byteOffset: place)
        self.lacksBeginning = self.format == .gzip
    }

    private mutating func checkByteCount(_ expected: UInt32) throws(BlobError) {
        guard self.lacksBeginning else { return try self.sum.check(byteCount: expected, at: self.byteOffset - 3) }
        self.remainder?.byteCount = expected
        self.lacksBeginning = false
    }

    private func trailingData(at byteOffset: Int64) -> BlobError {
        BlobError(
            .trailingData, "There is something behind the end of the \(self.format.rawValue).", byteOffset: byteOffset)
    }

    private mutating func skipZeros(_ input: inout UnsafeRawBufferPointer) {
        let count = input.firstIndex { $0 != 0 } ?? input.count
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        self.byteOffset += Int64(count)
    }
}
