import BlobCore
import BlobDeflate
internal import BlobIndex

extension RestartPoint {
    /// Creates a point that is either before a header or within deflate data.
    init(bitOffset: Int64, byteOffset: Int64, isInData: Bool) {
        self.init(bitOffset: bitOffset, byteOffset: byteOffset, detail: isInData ? 1 : 0)
    }

    /// True within deflate data, where decoding requires a window, which contains the preceding decoded bytes to which
    /// data after the point refers.
    ///
    /// No reference crosses a header.
    var isInData: Bool { self.detail == 1 }
}

/// Decodes compressed bytes and their framing: headers, trailers, further members, and the rules for the end.
///
/// The decoder is a state machine without I/O, which consumes compressed bytes and appends decoded bytes or throws.
struct FrameDecoder: ~Copyable {
    private enum Phase {
        case gzipHeader(GzipHeader)
        case zlibHeader(ZlibHeader)
        case data
        case checksum(NumberField)
        /// ISIZE of RFC 1952.
        case byteCount(NumberField)
        /// After a gzip member, where the next member, padding or the end follows.
        case gap
        /// In the zero bytes after the last gzip member.
        case padding
        /// After the end of a format that has no members or padding.
        case done

        /// Creates the initial phase of a format.
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
    /// The bytes after the deflate data that the inflater consumed.
    private var surplus = Inflater.Surplus()

    /// The offset of the next input byte from the start of the compressed data.
    private(set) var byteOffset: Int64 = 0

    /// The number of members that have ended and passed all checks.
    private(set) var memberCount = 0

    /// The sum of the current frame, covering all its bytes so far or only the bytes after the restart point.
    private(set) var sum: FrameSum

    /// True if ``sum`` does not cover the bytes of its frame before the restart point.
    private(set) var isPartial = false

    /// The end of the frame whose beginning is unknown; nil until that end is reached.
    private(set) var remainder: Remainder?

    /// The part of a frame after a restart point and its trailer, which are checked once the part before the point is
    /// known.
    struct Remainder: Sendable {
        let sum: FrameSum
        let checksum: UInt32
        /// The length in the trailer of a gzip member, modulo 2^32.
        var byteCount: UInt32?
        /// The offset of the checksum in the compressed data.
        let byteOffset: Int64

        /// Compares the sum of the whole frame with its trailer.
        ///
        /// - Parameter beginning: The sum of the bytes before the restart point.
        func check(after beginning: FrameSum) throws(BlobError) {
            var sum = beginning
            sum.append(self.sum)
            try sum.check(checksum: self.checksum, at: self.byteOffset)
            if let byteCount { try sum.check(byteCount: byteCount, at: self.byteOffset + 4) }
        }
    }

    /// Records restart points for an index.
    private let recorder: PointRecorder?

    /// Creates a decoder positioned before the first byte.
    init(
        _ format: GzipSource.Format, library: InflateLibrary = .isal, recorder: PointRecorder? = nil
    ) throws(BlobError) {
        self.format = format
        self.recorder = recorder
        self.inflater = try Inflater(library)
        self.sum = FrameSum(format)
        self.phase = Phase(beginning: format)
    }

    /// Resumes at a restart point.
    ///
    /// - Parameters:
    ///   - firstByte: The byte of the compressed data that contains the point. It is not part of the later input, and
    ///     is ignored if the point is between two bytes.
    ///   - window: The window of the point.
    ///   - beginning: The sum of the bytes before the point in its frame. Without this sum, the end of the frame
    ///     becomes the ``remainder``.
    mutating func resume(
        at point: RestartPoint, firstByte: UInt8, window: UnsafeRawBufferPointer, beginning: FrameSum? = nil
    ) {
        let bit = Int(point.bitOffset % 8)
        self.byteOffset = (point.bitOffset + 7) / 8
        self.surplus = Inflater.Surplus()
        self.isFirstMember = point.bitOffset == 0
        self.remainder = nil
        self.isPartial = false
        guard point.isInData else {
            self.inflater.reset()
            self.sum = FrameSum(self.format)
            // After a member, the data may also end.
            self.phase = self.format == .gzip && !self.isFirstMember ? .gap : Phase(beginning: self.format)
            return
        }
        self.inflater.resume(bits: bit == 0 ? 0 : firstByte >> UInt8(bit), bitCount: (8 - bit) % 8, window: window)
        self.sum = beginning ?? FrameSum(self.format)
        self.isPartial = beginning == nil
        self.phase = .data
    }

    /// True if the input so far consists of whole gzip members.
    var isBetweenMembers: Bool { if case .gap = self.phase { self.surplus.count == 0 } else { false } }

    /// True while deflate data is being decoded.
    var isInData: Bool { if case .data = self.phase { true } else { false } }

    /// Decodes until `input` is consumed or `output` is full.
    ///
    /// After the output was full, call this method again even with an empty input, because consumed bytes may yield
    /// more output.
    ///
    /// - Parameters:
    ///   - input: The next bytes. Consumed bytes are removed from the front.
    ///   - output: A span with free capacity, to which bytes are appended. Bytes appended before an error are correct.
    /// - Throws: The error in the data, with its offset in the compressed data.
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
                    try self.parse(byte)
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

    /// Checks that the format ends here. Call this method at the end of the input.
    ///
    /// - Throws: ``BlobError/Code/truncated`` if the data ends too early.
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
            ? "The \(self.format.rawValue) data is empty."
            : "The \(self.format.rawValue) stream ends too early, \(place)."
        throw BlobError(.truncated, message, byteOffset: self.byteOffset)
    }

    /// Decodes deflate data; returns true at the end of the data.
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
            self.recorder?.appendInput(UnsafeRawBufferPointer(rebasing: given[..<(given.count - input.count)]))
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

    /// Appends the bytes that were held back while searching for a block end. Call this method at the end of the input,
    /// before ``finish()``.
    mutating func flush(into output: inout OutputRawSpan) throws(BlobError) {
        guard case .data = self.phase, self.recorder?.wantsBlockEnd ?? false else { return }
        self.recorder?.stopSearching()
        var input = UnsafeRawBufferPointer(start: nil, count: 0)
        try self.decode(&input, into: &output)
    }

    /// Processes a byte outside the deflate data.
    private mutating func parse(_ byte: UInt8) throws(BlobError) {
        switch self.phase {
        case .gzipHeader(var header):
            if !self.isFirstMember, header.isBeforeMethod, byte != GzipHeader.identification[1] {
                throw self.trailingDataError(at: self.byteOffset - 1)
            }
            self.phase = try header.parse(byte) ? .data : .gzipHeader(header)
            if self.isInData { self.recorder?.dataBegin(at: self.byteOffset + 1) }
        case .zlibHeader(var header): self.phase = try header.parse(byte) ? .data : .zlibHeader(header)
        case .checksum(var field):
            guard field.parse(byte) else { return self.phase = .checksum(field) }
            try self.checkChecksum(self.format == .zlib ? field.value.byteSwapped : field.value)
            self.phase = self.format == .zlib ? .done : .byteCount(NumberField())
        case .byteCount(var field):
            guard field.parse(byte) else { return self.phase = .byteCount(field) }
            try self.checkByteCount(field.value)
            self.isFirstMember = false
            self.memberCount += 1
            self.recorder?.memberEnds()
            self.phase = .gap
        case .gap:
            switch byte {
            case 0: self.phase = .padding
            case GzipHeader.identification[0]: try self.beginMember(byte)
            default: throw self.trailingDataError(at: self.byteOffset)
            }
        case .padding, .done: throw self.trailingDataError(at: self.byteOffset)
        case .data: preconditionFailure("The data of a member must be decoded by the inflater.")
        }
    }

    private mutating func beginMember(_ firstByte: UInt8) throws(BlobError) {
        self.inflater.reset()
        self.sum = FrameSum(self.format)
        self.recorder?.memberBegins(at: self.byteOffset)
        var header = GzipHeader()
        _ = try header.parse(firstByte)
        self.phase = .gzipHeader(header)
    }

    private mutating func checkChecksum(_ expected: UInt32) throws(BlobError) {
        let place = self.byteOffset - 3
        guard self.isPartial else { return try self.sum.check(checksum: expected, at: place) }
        self.remainder = Remainder(sum: self.sum, checksum: expected, byteOffset: place)
        self.isPartial = self.format == .gzip
    }

    private mutating func checkByteCount(_ expected: UInt32) throws(BlobError) {
        guard self.isPartial else { return try self.sum.check(byteCount: expected, at: self.byteOffset - 3) }
        self.remainder?.byteCount = expected
        self.isPartial = false
    }

    private func trailingDataError(at byteOffset: Int64) -> BlobError {
        BlobError(
            .trailingData, "Unexpected data after the end of the \(self.format.rawValue) stream.",
            byteOffset: byteOffset)
    }

    private mutating func skipZeros(_ input: inout UnsafeRawBufferPointer) {
        let count = input.firstIndex { $0 != 0 } ?? input.count
        input = UnsafeRawBufferPointer(rebasing: input[count...])
        self.byteOffset += Int64(count)
    }
}

/// A four-byte number that is parsed byte by byte, lowest byte first.
private struct NumberField {
    /// The number, once it is complete.
    private(set) var value: UInt32 = 0
    private var byteCount: UInt32 = 0

    /// Parses a byte; returns true if the number is complete.
    mutating func parse(_ byte: UInt8) -> Bool {
        self.value |= UInt32(byte) << (8 * self.byteCount)
        self.byteCount += 1
        return self.byteCount == 4
    }
}

/// The checksum and length of one frame's decoded bytes, for comparison with the frame's trailer.
struct FrameSum: Sendable {
    private var crc: CRC32?
    private var adler: Adler32?
    private var byteCount: Int64 = 0

    /// Creates the sum of an empty frame.
    init(_ format: GzipSource.Format) {
        self.crc = format == .gzip ? CRC32() : nil
        self.adler = format == .zlib ? Adler32() : nil
    }

    /// Updates the sum with `bytes`.
    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        self.crc?.update(bytes)
        self.adler?.update(bytes)
        self.byteCount += Int64(bytes.count)
    }

    /// Updates the sum with bytes whose sum is `next`.
    mutating func append(_ next: FrameSum) {
        if let crc = next.crc { self.crc?.append(crc, byteCount: next.byteCount) }
        if let adler = next.adler { self.adler?.append(adler, byteCount: next.byteCount) }
        self.byteCount += next.byteCount
    }

    /// Compares the sum with the checksum in a trailer.
    ///
    /// - Parameter byteOffset: The offset of the checksum in the compressed data.
    func check(checksum expected: UInt32, at byteOffset: Int64) throws(BlobError) {
        guard let found = self.crc?.value ?? self.adler?.value, found != expected else { return }
        throw BlobError(
            .checksumMismatch,
            "The \(self.crc == nil ? "Adler-32" : "CRC-32") of the decoded bytes is \(hexadecimal(found, digits: 8)), "
                + "but the trailer says \(hexadecimal(expected, digits: 8)).", byteOffset: byteOffset)
    }

    /// Compares the length with ISIZE, the length in a gzip member's trailer.
    ///
    /// - Parameter byteOffset: The offset of the length in the compressed data.
    func check(byteCount expected: UInt32, at byteOffset: Int64) throws(BlobError) {
        let found = UInt32(truncatingIfNeeded: self.byteCount)
        guard found != expected else { return }
        throw BlobError(
            .sizeMismatch,
            "The member has \(found) bytes, but the trailer says \(expected) (both modulo 2^32).",
            byteOffset: byteOffset)
    }
}
