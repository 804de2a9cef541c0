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
    }

    private let format: GzipSource.Format
    private var phase: Phase
    private var inflater: Inflater
    private var sum: FrameSum
    private var isFirstMember = true
    /// What the inflater took of what follows the data.
    private var surplus = Inflater.Surplus()

    /// How many bytes of input were used.
    private(set) var byteOffset: Int64 = 0

    init(_ format: GzipSource.Format) throws(BlobError) {
        self.format = format
        self.inflater = try Inflater()
        self.sum = FrameSum(format)
        self.phase =
            switch format {
            case .gzip: .gzipHeader(GzipHeader())
            case .zlib: .zlibHeader(ZlibHeader())
            case .deflate: .data
            }
    }

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
        let inputCount = input.count
        let outputCount = output.byteCount
        let isAtEnd: Bool
        do {
            isAtEnd = try self.inflater.decode(&input, into: &output)
        } catch {
            var error = error
            error.byteOffset = self.byteOffset + Int64(inputCount - input.count)
            throw error
        }
        self.byteOffset += Int64(inputCount - input.count)
        if isAtEnd {
            self.surplus = self.inflater.surplus
            self.byteOffset -= Int64(self.surplus.count)
        }
        output.bytes.withUnsafeBytes { bytes in
            self.sum.update(UnsafeRawBufferPointer(rebasing: bytes[outputCount...]))
        }
        return isAtEnd
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
        var header = GzipHeader()
        _ = try header.take(firstByte)
        self.phase = .gzipHeader(header)
    }

    private func checkChecksum(_ expected: UInt32) throws(BlobError) {
        let (name, found): (String, UInt32)
        switch self.sum {
        case .gzip(let sum, _): (name, found) = ("CRC-32", sum.value)
        case .zlib(let sum): (name, found) = ("Adler-32", sum.value)
        case .none: return
        }
        guard found == expected else {
            throw BlobError(
                .checksumMismatch,
                "The \(name) of the decoded bytes is \(hexadecimal(found, digits: 8)), "
                    + "the trailer says \(hexadecimal(expected, digits: 8)).",
                byteOffset: self.byteOffset - 3)
        }
    }

    private func checkByteCount(_ expected: UInt32) throws(BlobError) {
        guard case .gzip(_, let found) = self.sum, found != expected else { return }
        throw BlobError(
            .sizeMismatch,
            "The member has \(found) bytes, the trailer says \(expected) (both modulo 2^32).",
            byteOffset: self.byteOffset - 3)
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
