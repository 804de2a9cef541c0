/// An editor of the Exif data of a picture whose pixels were changed.
///
/// Changes values where they are, and so no place that a maker note may point to. Damaged data are left as they are
/// from the damage on.
struct ExifEditor {
    /// The TIFF structure (TIFF 6.0, section 2).
    private(set) var bytes: [UInt8]
    private let isBigEndian: Bool

    /// The number of fields of a directory that are read; cameras write some dozens.
    private static let fieldLimit = 1024

    /// Creates an editor; nil when the bytes are no TIFF.
    init?(_ bytes: [UInt8]) {
        switch bytes.prefix(4) {
        case [0x49, 0x49, 0x2A, 0x00]: self.isBigEndian = false
        case [0x4D, 0x4D, 0x00, 0x2A]: self.isBigEndian = true
        default: return nil
        }
        self.bytes = bytes
    }

    /// Sets the orientation to 1 and the size to that of the picture, and removes the thumbnail, which shows the
    /// original.
    mutating func reset(for size: PictureSize) {
        guard let first = self.number(at: 4, byteCount: 4) else { return }
        self.setNumber(1, of: 0x0112, in: first)
        if let exif = self.field(0x8769, in: first).flatMap({ self.value(of: $0) }) {
            self.setNumber(size.width, of: 0xA002, in: exif)
            self.setNumber(size.height, of: 0xA003, in: exif)
        }
        guard let count = self.fieldCount(in: first), let next = self.number(at: first + 2 + count * 12, byteCount: 4),
            next != 0
        else { return }
        let (start, length) = (self.field(0x0201, in: next), self.field(0x0202, in: next))
        if let start = start.flatMap({ self.value(of: $0) }), let length = length.flatMap({ self.value(of: $0) }),
            start >= 8, length <= self.bytes.count - min(start, self.bytes.count)
        {
            for place in start..<(start + length) { self.bytes[place] = 0 }
            if start + length == self.bytes.count { self.bytes.removeLast(length) }
        }
        self.setNumber(0, at: first + 2 + count * 12, byteCount: 4)
    }

    private func fieldCount(in directory: Int) -> Int? {
        self.number(at: directory, byteCount: 2).flatMap { $0 <= Self.fieldLimit ? $0 : nil }
    }

    /// Returns the offset of a field.
    private func field(_ tag: Int, in directory: Int) -> Int? {
        guard let count = self.fieldCount(in: directory) else { return nil }
        return (0..<count).lazy.map { directory + 2 + $0 * 12 }.first { self.number(at: $0, byteCount: 2) == tag }
    }

    /// The length of the value of a field of one SHORT or LONG, in bytes; nil for any other.
    private func byteCount(of field: Int) -> Int? {
        guard self.number(at: field + 4, byteCount: 4) == 1 else { return nil }
        return switch self.number(at: field + 2, byteCount: 2) {
        case 3: 2
        case 4: 4
        default: nil
        }
    }

    private func value(of field: Int) -> Int? {
        self.byteCount(of: field).flatMap { self.number(at: field + 8, byteCount: $0) }
    }

    private mutating func setNumber(_ value: Int, of tag: Int, in directory: Int) {
        guard let field = self.field(tag, in: directory), let count = self.byteCount(of: field) else { return }
        self.setNumber(value, at: field + 8, byteCount: count)
    }

    private func number(at offset: Int, byteCount: Int) -> Int? {
        guard offset >= 0, offset <= self.bytes.count - byteCount else { return nil }
        let bytes = self.bytes[offset..<(offset + byteCount)]
        return (self.isBigEndian ? Array(bytes) : bytes.reversed()).reduce(0) { $0 << 8 | Int($1) }
    }

    private mutating func setNumber(_ value: Int, at offset: Int, byteCount: Int) {
        guard offset >= 0, offset <= self.bytes.count - byteCount else { return }
        for place in 0..<byteCount {
            let shift = 8 * (self.isBigEndian ? byteCount - 1 - place : place)
            self.bytes[offset + place] = UInt8(truncatingIfNeeded: value >> shift)
        }
    }
}
