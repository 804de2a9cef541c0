import BlobCore
import BlobDeflate

/// Parses the header of a gzip member (RFC 1952, section 2.3) byte by byte.
///
/// The parser checks the identification, the method, the reserved flags and the checksum of the header. It discards
/// fields of variable length, so that long fields use no memory, but keeps the name if `keepsName` is true.
struct GzipHeader {
    /// The maximum length of a name or comment, without its terminating zero: 64 KiB. Extra fields cannot be longer.
    static let maximumFieldByteCount = 64 * 1024

    /// ID1 and ID2.
    static let identification: [UInt8] = [0x1F, 0x8B]

    /// The fields in order. The flags indicate which optional fields are present.
    private enum Field: Int {
        case fixed, extraLength, extra, name, comment, checksum
    }

    // FLG, section 2.3.1. FTEXT (bit 0) is only a hint and is ignored.
    private static let (hasChecksum, hasExtra, hasName, hasComment): (UInt8, UInt8, UInt8, UInt8) = (2, 4, 8, 16)
    private static let reserved: UInt8 = 0b1110_0000

    private static let fixedByteCount = 10

    private var field = Field.fixed
    private var position = 0  // The offset of the next byte in the field.
    private var flags: UInt8 = 0
    private var number = 0  // The value of a two-byte number, low byte first.
    private var extraByteCount = 0
    private var sum = CRC32()
    private let keepsName: Bool

    /// The part of FNAME parsed so far; empty unless the name is kept.
    private(set) var name: [UInt8] = []

    /// MTIME in seconds since 1970; 0 if unknown.
    private(set) var time: UInt32 = 0

    init(keepsName: Bool = false) { self.keepsName = keepsName }

    /// True while the identification is incomplete.
    var isBeforeMethod: Bool { self.field == .fixed && self.position < Self.identification.count }

    /// Parses the next byte.
    ///
    /// - Returns: True if it was the last byte of the header.
    /// - Throws: An error without an offset. The error is at this byte.
    mutating func parse(_ byte: UInt8) throws(BlobError) -> Bool {
        if self.field != .checksum { self.sum.update(byte) }
        let position = self.position
        self.position += 1
        switch self.field {
        case .fixed:
            try self.parseFixed(byte, at: position)
            guard self.position == Self.fixedByteCount else { return false }
        case .extraLength, .checksum:
            self.number |= Int(byte) << (8 * position)
            guard self.position == 2 else { return false }
            if self.field == .extraLength { self.extraByteCount = self.number } else { try self.check() }
        case .extra:
            guard self.position == self.extraByteCount else { return false }
        case .name, .comment:
            guard byte == 0 else {
                try self.parseText(byte, at: position)
                return false
            }
        }
        return !self.beginField()
    }

    private mutating func parseFixed(_ byte: UInt8, at position: Int) throws(BlobError) {
        switch position {
        case 0, 1:
            guard byte == Self.identification[position] else {
                throw BlobError(.unsupported, "Not gzip: the data does not begin with 1f 8b.")
            }
        case 2:
            // CM: 8 means deflate, the only defined method.
            guard byte == 8 else {
                throw BlobError(.unsupported, "The gzip data uses the unknown compression method \(byte).")
            }
        case 3:
            guard byte & Self.reserved == 0 else {
                throw BlobError(
                    .unsupported, "The gzip header has reserved flags set: \(hexadecimal(Int(byte), digits: 2)).")
            }
            self.flags = byte
        case 4...7: self.time |= UInt32(byte) << (8 * (position - 4))
        default: break  // XFL and OS can have any value.
        }
    }

    private mutating func parseText(_ byte: UInt8, at position: Int) throws(BlobError) {
        guard position < Self.maximumFieldByteCount else {
            let name = self.field == .name ? "name" : "comment"
            throw BlobError(
                .limitExceeded,
                "The \(name) in the gzip header is longer than the limit of \(Self.maximumFieldByteCount) bytes.")
        }
        if self.keepsName, self.field == .name { self.name.append(byte) }
    }

    private func check() throws(BlobError) {
        let found = Int(self.sum.value & 0xFFFF)
        guard self.number == found else {
            throw BlobError(
                .checksumMismatch,
                "The checksum of the gzip header is \(hexadecimal(found, digits: 4)), "
                    + "but the header says \(hexadecimal(self.number, digits: 4)).")
        }
    }

    /// Begins the next field of the header; returns false if the header is complete.
    private mutating func beginField() -> Bool {
        (self.position, self.number) = (0, 0)
        while let next = Field(rawValue: self.field.rawValue + 1) {
            self.field = next
            let isThere =
                switch next {
                case .fixed: true
                case .extraLength: self.flags & Self.hasExtra != 0
                case .extra: self.extraByteCount > 0
                case .name: self.flags & Self.hasName != 0
                case .comment: self.flags & Self.hasComment != 0
                case .checksum: self.flags & Self.hasChecksum != 0
                }
            if isThere { return true }
        }
        return false
    }
}

/// Parses the header of a zlib stream (RFC 1950, section 2.2) byte by byte.
struct ZlibHeader {
    private var firstByte: UInt8?  // CMF

    /// Parses the next byte.
    ///
    /// - Returns: True if it was the last byte of the header.
    /// - Throws: ``BlobError/Code/unsupported`` without an offset. The error is at this byte.
    mutating func parse(_ byte: UInt8) throws(BlobError) -> Bool {
        guard let firstByte = self.firstByte else {
            // CM is 8, which means deflate. CINFO is at most 7, which means a window of 32 KiB.
            guard byte & 0x0F == 8, byte >> 4 <= 7 else {
                throw BlobError(
                    .unsupported, "Not zlib: the data begins with \(hexadecimal(byte, digits: 2)).")
            }
            self.firstByte = byte
            return false
        }
        // FCHECK makes the two bytes a multiple of 31.
        guard (Int(firstByte) << 8 | Int(byte)) % 31 == 0 else {
            throw BlobError(.unsupported, "Not zlib: the check bits of the header are wrong.")
        }
        // FDICT
        guard byte & 0x20 == 0 else {
            throw BlobError(.unsupported, "The zlib data requires a preset dictionary, which is not supported.")
        }
        return true
    }
}

/// Returns a number in hexadecimal notation with at least `digits` digits, such as `0x0000beef`.
func hexadecimal(_ number: some BinaryInteger, digits: Int) -> String {
    let text = String(number, radix: 16)
    return "0x" + String(repeating: "0", count: max(0, digits - text.count)) + text
}
