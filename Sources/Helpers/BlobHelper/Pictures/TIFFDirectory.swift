/// A directory of an untrusted TIFF (TIFF 6.0, section 2).
package struct TIFFDirectory {
    private struct Field {
        let type: UInt64
        let count: UInt64
        let value: ArraySlice<UInt8>
        /// The offset of the value from the start of the TIFF.
        let valueOffset: Int

        /// The length of the value of one SHORT or LONG, in bytes; nil for any other field.
        var numberByteCount: Int? { self.count == 1 ? [3: 2, 4: 4][self.type] : nil }
    }

    /// The maximum number of fields that are read; a directory may claim 65,535, and cameras write some dozens.
    private static let maximumFieldCount = 1024
    private static let textByteLimit = 256

    private let bytes: HeaderBytes
    private let range: Range<Int64>
    package let isBigEndian: Bool
    private var fields: [UInt64: Field] = [:]
    /// The offset after the fields; nil if there is no directory.
    private var end: UInt64?

    /// Reads the first directory.
    ///
    /// - Parameter range: The range of the TIFF in the file. Offsets are relative to its start.
    package init?(_ bytes: HeaderBytes, in range: Range<Int64>) {
        guard range.count >= 8, let order = bytes.bytes(at: range.lowerBound, count: 4) else { return nil }
        switch order {
        case [0x49, 0x49, 0x2A, 0x00]: self.isBigEndian = false
        case [0x4D, 0x4D, 0x00, 0x2A]: self.isBigEndian = true
        default: return nil
        }
        (self.bytes, self.range) = (bytes, range)
        guard let first = self.data(at: 4, count: 4).flatMap(self.number) else { return nil }
        self.readFields(at: first)
    }

    /// Reads the directory after the first 14 bytes of Apple's maker note. Offsets are relative to the start of the
    /// note.
    package init?(appleNote bytes: HeaderBytes) {
        guard bytes.bytes(at: 0, count: 10) == Array("Apple iOS\0".utf8), let order = bytes.bytes(at: 12, count: 2)
        else { return nil }
        (self.bytes, self.range) = (bytes, 0..<bytes.byteCount)
        self.isBigEndian = order == [0x4D, 0x4D]
        self.readFields(at: 14)
    }

    /// Returns the directory at another offset of the same TIFF.
    package func directory(at offset: UInt64) -> TIFFDirectory {
        var other = self
        (other.fields, other.end) = ([:], nil)
        other.readFields(at: offset)
        return other
    }

    private mutating func readFields(at offset: UInt64) {
        guard let count = self.data(at: offset, count: 2).flatMap(self.number) else { return }
        self.end = offset + 2 + 12 * count
        // A truncated directory yields the fields that it still contains.
        let room = Int64(self.range.count) - 2 - Int64(clamping: offset)
        let fieldCount = min(Int64(clamping: count), Int64(Self.maximumFieldCount), room / 12)
        guard fieldCount > 0, let table = self.data(at: offset + 2, count: Int(fieldCount) * 12) else { return }
        var cursor = ByteCursor(table)
        for index in 0..<Int(fieldCount) {
            guard let tag = cursor.number(2, isBigEndian: self.isBigEndian),
                let type = cursor.number(2, isBigEndian: self.isBigEndian),
                let count = cursor.number(4, isBigEndian: self.isBigEndian), let value = cursor.take(4)
            else { break }
            guard self.fields[tag] == nil else { continue }
            self.fields[tag] = Field(type: type, count: count, value: value, valueOffset: Int(offset) + 10 + 12 * index)
        }
    }

    /// Returns the number in a field of one SHORT or LONG; nil for any other field.
    package func number(_ tag: UInt64) -> UInt64? {
        guard let field = self.fields[tag], let count = field.numberByteCount else { return nil }
        return self.number(Array(field.value.prefix(count)))
    }

    /// Returns the range of the bytes of the number in a field of one SHORT or LONG; nil for any other field.
    package func place(of tag: UInt64) -> Range<Int>? {
        guard let field = self.fields[tag], let count = field.numberByteCount else { return nil }
        return field.valueOffset..<(field.valueOffset + count)
    }

    /// The offset of the next directory, or 0 after the last directory, and the range of the bytes of that number.
    package var nextDirectory: (offset: UInt64, place: Range<Int>)? {
        guard let end, let offset = self.data(at: end, count: 4).flatMap(self.number) else { return nil }
        return (offset, Int(end)..<(Int(end) + 4))
    }

    /// Returns the text of an ASCII field, up to its zero byte and with surrounding blanks removed; nil if it is empty.
    package func text(_ tag: UInt64) -> String? {
        guard let field = self.fields[tag], field.type == 2 else { return nil }
        let count = Int(min(field.count, UInt64(Self.textByteLimit)))
        let bytes =
            field.count <= 4
            ? Array(field.value.prefix(count))
            : self.number(Array(field.value)).flatMap { self.data(at: $0, count: count) } ?? []
        let blank = UInt8(ascii: " ")
        let text = bytes.prefix { $0 != 0 }.drop { $0 == blank }
        guard let end = text.lastIndex(where: { $0 != blank }) else { return nil }
        return String(validating: text[...end], as: UTF8.self)
    }

    /// The orientation of the picture, 1 to 8.
    package var orientation: Int? { self.number(0x0112).flatMap { (1...8).contains($0) ? Int($0) : nil } }

    /// The range of the XMP packet; nil if not found, and for DNG raw pictures, whose XMP describes their development.
    package var xmpRange: Range<Int64>? {
        guard self.fields[0xC612] == nil, let packet = self.fields[0x02BC], packet.count > 4 else { return nil }
        return self.number(Array(packet.value)).map {
            let start = Int64(clamping: $0)
            return start..<(start + Int64(clamping: min(packet.count, 1 << 32)))
        }
    }

    /// The types of a raw picture, whose first directory describes a thumbnail or sensor samples; nil for any other
    /// picture.
    ///
    /// A raw picture has the version of DNG, the mark of Canon's CR2, a reduced first picture with others below it
    /// (TIFF/EP, ISO 12234-2), a photometric interpretation of sensors, or a compression that TIFF does not define.
    package var rawType: (mediaType: String, typeIdentifier: String)? {
        if self.fields[0xC612] != nil { return ("image/x-adobe-dng", "com.adobe.raw-image") }
        if self.data(at: 8, count: 2) == Array("CR".utf8) { return ("image/x-canon-cr2", "com.canon.cr2-raw-image") }
        let isReduced = self.number(0x00FE).map { $0 & 1 == 1 } ?? false
        let compression = self.number(0x0103) ?? 1
        guard
            isReduced && self.fields[0x014A] != nil || [32_803, 34_892].contains(self.number(0x0106))
                || compression == 65_535 || [32_767, 32_769, 32_770, 34_713].contains(compression)
        else { return nil }
        switch self.text(0x010F)?.uppercased() {
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
