extension MediaDescription {
    /// Reads the first directory of a TIFF (TIFF 6.0, section 2), and the Exif directory to which it points.
    ///
    /// - Parameters:
    ///   - range: The range of the TIFF, which is clamped to the file. Offsets count from its start.
    ///   - hasSize: True when the TIFF contains the picture, and does not only describe it.
    mutating func readTIFF(_ bytes: HeaderBytes, in range: Range<Int64>, hasSize: Bool = false) {
        let tiff = TIFFBytes(bytes, in: range.clamped(to: 0..<bytes.byteCount))
        guard let tiff, let first = tiff.firstDirectory else { return }
        let fields = tiff.fields(at: first)
        if hasSize, let width = tiff.number(fields[0x0100]), let height = tiff.number(fields[0x0101]) {
            self.setSize(width, height)
        }
        if self.mediaType == MediaFormat.tiff.mediaType, let raw = tiff.rawType(fields) {
            (self.mediaType, self.typeIdentifier) = raw
        }
        self.cameraMake = tiff.text(fields[0x010F])
        self.cameraModel = tiff.text(fields[0x0110])
        self.orientation = tiff.number(fields[0x0112]).flatMap { (1...8).contains($0) ? Int($0) : nil }
        guard let exif = tiff.number(fields[0x8769]) else { return }
        let details = tiff.fields(at: exif)
        self.captureDate = tiff.text(details[0x9003]).flatMap { Self.isDate($0) ? $0 : nil }
        self.captureOffset = tiff.text(details[0x9011])
        self.captureSubsecond = tiff.text(details[0x9291])
    }

    /// Returns the range of the XMP packet; nil without one, and for the raw pictures of DNG, which XMP develops.
    static func xmpRange(inTIFF bytes: HeaderBytes) -> Range<Int64>? {
        guard let tiff = TIFFBytes(bytes, in: 0..<bytes.byteCount), let first = tiff.firstDirectory else { return nil }
        let fields = tiff.fields(at: first)
        guard fields[0xC612] == nil, let packet = fields[0x02BC], packet.count > 4 else { return nil }
        return tiff.number(TIFFBytes.Field(type: 4, count: 1, value: packet.value)).map {
            let start = Int64(clamping: $0)
            return start..<(start + Int64(clamping: min(packet.count, 1 << 32)))
        }
    }

    /// Reads the content identifier of a live photo in a maker note of Apple: a directory behind 14 bytes.
    mutating func readAppleNote(_ bytes: HeaderBytes) {
        guard let note = TIFFBytes(appleNote: bytes) else { return }
        self.livePhotoID = note.text(note.fields(at: 14)[0x0011]).flatMap(Self.identifier) ?? self.livePhotoID
    }

    /// Returns true for `YYYY:MM:DD HH:MM:SS`, and false for the blanks or zeros of cameras without a clock (Exif 2.32,
    /// section 4.6.5).
    static func isDate(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        guard bytes.count == 19 else { return false }
        for (index, byte) in bytes.enumerated() {
            switch index {
            case 4, 7, 13, 16: guard byte == UInt8(ascii: ":") else { return false }
            case 10: guard byte == UInt8(ascii: " ") else { return false }
            default: guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return false }
            }
        }
        return !text.hasPrefix("0000")
    }
}

/// A parser of the fields of an untrusted TIFF.
private struct TIFFBytes {
    struct Field {
        let type: UInt64
        let count: UInt64
        let value: ArraySlice<UInt8>
    }

    /// The largest number of fields that are read; a directory may claim 65,535, and cameras write some dozens.
    private static let fieldLimit = 1024
    private static let textByteLimit = 256

    private let bytes: HeaderBytes
    private let range: Range<Int64>
    private let isBigEndian: Bool

    init?(_ bytes: HeaderBytes, in range: Range<Int64>) {
        guard range.count >= 8, let order = bytes.bytes(at: range.lowerBound, count: 4) else { return nil }
        switch order {
        case [0x49, 0x49, 0x2A, 0x00]: self.isBigEndian = false
        case [0x4D, 0x4D, 0x00, 0x2A]: self.isBigEndian = true
        default: return nil
        }
        self.bytes = bytes
        self.range = range
    }

    /// Offsets in the note count from its start.
    init?(appleNote bytes: HeaderBytes) {
        guard bytes.bytes(at: 0, count: 10) == Array("Apple iOS\0".utf8), let order = bytes.bytes(at: 12, count: 2)
        else {
            return nil
        }
        self.bytes = bytes
        self.range = 0..<bytes.byteCount
        self.isBigEndian = order == [0x4D, 0x4D]
    }

    var firstDirectory: UInt64? { self.data(at: 4, count: 4).flatMap(self.number) }

    func fields(at offset: UInt64) -> [UInt64: Field] {
        guard let count = self.data(at: offset, count: 2).flatMap(self.number) else { return [:] }
        // A truncated directory gives the fields that it still has.
        let room = Int64(self.range.count) - 2 - Int64(clamping: offset)
        let fieldCount = min(Int64(clamping: count), Int64(Self.fieldLimit), room / 12)
        guard fieldCount > 0, let table = self.data(at: offset + 2, count: Int(fieldCount) * 12) else { return [:] }
        var cursor = ByteCursor(table)
        var fields: [UInt64: Field] = [:]
        for _ in 0..<fieldCount {
            guard let tag = cursor.number(2, isBigEndian: self.isBigEndian),
                let type = cursor.number(2, isBigEndian: self.isBigEndian),
                let count = cursor.number(4, isBigEndian: self.isBigEndian), let value = cursor.take(4)
            else { break }
            if fields[tag] == nil { fields[tag] = Field(type: type, count: count, value: value) }
        }
        return fields
    }

    /// Returns the number in a field of one SHORT or LONG; nil for any other field.
    func number(_ field: Field?) -> UInt64? {
        guard let field, field.count == 1 else { return nil }
        switch field.type {
        case 3: return self.number(Array(field.value.prefix(2)))
        case 4: return self.number(Array(field.value))
        default: return nil
        }
    }

    /// Returns the text of an ASCII field, up to its zero byte and without the blanks around it; nil when it is empty.
    func text(_ field: Field?) -> String? {
        guard let field, field.type == 2 else { return nil }
        let count = Int(min(field.count, UInt64(Self.textByteLimit)))
        let bytes: [UInt8]?
        if field.count <= 4 {
            bytes = Array(field.value.prefix(count))
        } else {
            bytes = self.number(Array(field.value)).flatMap { self.data(at: $0, count: count) }
        }
        guard let bytes else { return nil }
        let blank = UInt8(ascii: " ")
        let text = bytes.prefix { $0 != 0 }.drop { $0 == blank }
        guard let end = text.lastIndex(where: { $0 != blank }) else { return nil }
        return String(validating: text[...end], as: UTF8.self)
    }

    /// Returns the types of a raw picture, whose first directory describes a thumbnail or samples of a sensor; nil for
    /// any other picture.
    ///
    /// A raw picture is one with the version of DNG, the mark of Canon's CR2, a reduced first picture and others below
    /// it (TIFF/EP, ISO 12234-2), a photometric interpretation of sensors, or a compression that TIFF does not have.
    func rawType(_ fields: [UInt64: Field]) -> (mediaType: String, typeIdentifier: String)? {
        if fields[0xC612] != nil { return ("image/x-adobe-dng", "com.adobe.raw-image") }
        if self.data(at: 8, count: 2) == Array("CR".utf8) { return ("image/x-canon-cr2", "com.canon.cr2-raw-image") }
        let isReduced = self.number(fields[0x00FE]).map { $0 & 1 == 1 } ?? false
        let compression = self.number(fields[0x0103]) ?? 1
        guard
            isReduced && fields[0x014A] != nil || [32_803, 34_892].contains(self.number(fields[0x0106]))
                || compression == 65_535 || [32_767, 32_769, 32_770, 34_713].contains(compression)
        else { return nil }
        switch self.text(fields[0x010F])?.uppercased() {
        case let make? where make.hasPrefix("NIKON"): return ("image/x-nikon-nef", "com.nikon.raw-image")
        case let make? where make.hasPrefix("SONY"): return ("image/x-sony-arw", "com.sony.arw-raw-image")
        default: return ("image/x-raw", "public.camera-raw-image")
        }
    }

    private func number(_ bytes: [UInt8]) -> UInt64? {
        var cursor = ByteCursor(bytes)
        return cursor.number(bytes.count, isBigEndian: self.isBigEndian)
    }

    private func data(at offset: UInt64, count: Int) -> [UInt8]? {
        guard let offset = Int64(exactly: offset), Int64(count) <= self.range.count,
            offset <= Int64(self.range.count) - Int64(count)
        else { return nil }
        return self.bytes.bytes(at: self.range.lowerBound + offset, count: count)
    }
}
