/// A tar header: 512 bytes in a buffer.
///
/// Offsets and lengths of fields follow POSIX.1, pax, "ustar Interchange Format", and tar.h of GNU tar.
struct TarHeader {
    static let byteCount = 512

    /// The dialect of the writer; the fields after the first 257 bytes differ.
    enum Dialect {
        case v7, ustar, gnu
    }

    let block: UnsafeRawBufferPointer

    init(_ block: UnsafeRawBufferPointer) { self.block = block }

    var type: UInt8 { self.block[156] }
    var mode: Int64 { self.number(100, 8) }
    var size: Int64 { self.number(124, 12) }
    var modificationTime: Int64 { self.number(136, 12) }
    var name: UnsafeRawBufferPointer { self.text(0, 100) }
    var linkName: UnsafeRawBufferPointer { self.text(157, 100) }
    /// The prefix of the name, joined to the name with a slash; ustar only.
    var prefix: UnsafeRawBufferPointer { self.text(345, 155) }
    /// The length in bytes, including holes; nil if the field, which only GNU tar uses, is empty.
    var realSize: Int64? { self.block[483] == 0 ? nil : self.number(483, 12) }

    var dialect: Dialect {
        // GNU writes "ustar", a space, and " \0"; others write "ustar\0" and a version, but not always exactly.
        guard self.block.number32(at: 257) == 0x6174_7375, self.block[261] == 0x72 else { return .v7 }
        return self.block[262] == 0x20 && self.block[263] == 0x20 && self.block[264] == 0 ? .gnu : .ustar
    }

    /// True for a block of zeros, which ends the archive.
    var isZero: Bool { self.block.number64(at: 0) == 0 && self.block.allSatisfy { $0 == 0 } }

    /// True if the checksum in the header matches the bytes.
    var isChecksumRight: Bool {
        guard self.block.count >= Self.byteCount else { return false }
        let field = 148..<156
        guard self.block[field].allSatisfy(Self.isInNumber) else { return false }
        let expected = self.number(field.lowerBound, field.count)
        let header = UnsafeRawBufferPointer(rebasing: self.block[..<Self.byteCount])
        var sums = SIMD32<UInt16>.zero
        for place in stride(from: 0, to: Self.byteCount, by: 32) {
            let bytes = header.loadUnaligned(fromByteOffset: place, as: SIMD32<UInt8>.self)
            sums &+= SIMD32<UInt16>(truncatingIfNeeded: bytes)
        }
        var sum = Int(SIMD32<UInt32>(truncatingIfNeeded: sums).wrappedSum())
        // The checksum field itself counts as spaces.
        for byte in header[field] { sum += 0x20 - Int(byte) }
        if Int64(sum) == expected { return true }
        // Some old writers summed the bytes as signed numbers.
        let high = header.count { $0 >= 0x80 } - header[field].count { $0 >= 0x80 }
        return Int64(sum - 256 * high) == expected
    }

    private static func isInNumber(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0 || (UInt8(ascii: "0")...UInt8(ascii: "7")).contains(byte)
    }

    /// Returns the bytes of a field up to the first zero byte.
    func text(_ start: Int, _ count: Int) -> UnsafeRawBufferPointer {
        var end = start
        while end < start + count, self.block[end] != 0 { end += 1 }
        return UnsafeRawBufferPointer(rebasing: self.block[start..<end])
    }

    /// Decodes a number: octal, or base 256 if the highest bit is set, which GNU uses for larger and negative numbers.
    ///
    /// A number out of range becomes the largest or smallest `Int64`.
    func number(_ start: Int, _ count: Int) -> Int64 {
        if self.block[start] & 0x80 != 0 { return self.binaryNumber(start, count) }
        var place = start
        let end = start + count
        while place < end, self.block[place] == 0x20 || self.block[place] == 0x09 { place += 1 }
        var isNegative = false
        if place < end, self.block[place] == UInt8(ascii: "-") {
            isNegative = true
            place += 1
        }
        var number: Int64 = 0
        while place < end, case let digit = Int64(self.block[place]) - 0x30, (0...7).contains(digit) {
            guard number <= Int64.max >> 3 else { return isNegative ? .min : .max }
            number = number << 3 | digit
            place += 1
        }
        return isNegative ? -number : number
    }

    private func binaryNumber(_ start: Int, _ count: Int) -> Int64 {
        let isNegative = self.block[start] & 0x40 != 0
        var number: Int64 = isNegative ? -1 : 0
        for place in start..<(start + count) {
            var byte = Int64(self.block[place])
            if place == start { byte = isNegative ? byte | 0x80 : byte & 0x7F }
            let (shifted, overflows) = number.multipliedReportingOverflow(by: 256)
            guard !overflows else { return isNegative ? .min : .max }
            number = shifted | byte
        }
        return number
    }
}
