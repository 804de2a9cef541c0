import BlobCore
import BlobDeflate
import BlobPlatform

/// An entry of the central directory of a zip (APPNOTE.TXT 4.3.12), as a view into the buffer.
struct ZipRecord {
    static let fixedByteCount = 46

    /// General purpose bit 11, which marks a name as UTF-8 (4.4.4).
    static let utf8NameFlag: UInt16 = 1 << 11

    let bytes: UnsafeRawBufferPointer
    private let nameByteCount: Int
    private let extraByteCount: Int

    let byteCount: Int64
    let compressedByteCount: Int64
    /// The offset of the local header in the base.
    let localOffset: Int64

    /// Returns the length in bytes of the entry that begins with `fixed`; nil if no entry begins with `fixed`.
    @inline(__always)
    static func byteCount(_ fixed: UnsafeRawBufferPointer) -> Int? {
        guard fixed.count >= Self.fixedByteCount, fixed.number32(at: 0) == 0x0201_4B50 else { return nil }
        return Self.fixedByteCount + Int(fixed.number16(at: 28)) + Int(fixed.number16(at: 30))
            + Int(fixed.number16(at: 32))
    }

    /// Creates an entry; returns nil if a length or an offset is out of range.
    @inline(__always)
    init?(_ bytes: UnsafeRawBufferPointer, shift: Int64) {
        self.bytes = bytes
        self.nameByteCount = Int(bytes.number16(at: 28))
        self.extraByteCount = Int(bytes.number16(at: 30))
        var numbers = Zip64Numbers(
            byteCount: UInt64(bytes.number32(at: 24)), compressedByteCount: UInt64(bytes.number32(at: 20)),
            localOffset: UInt64(bytes.number32(at: 42)))
        if numbers.areMissing {
            let extra = bytes[
                Self.fixedByteCount + self.nameByteCount..<Self.fixedByteCount + self.nameByteCount + extraByteCount]
            numbers.fill(from: ZipExtraFields(UnsafeRawBufferPointer(rebasing: extra)))
        }
        guard let byteCount = Int64(exactly: numbers.byteCount),
            let compressedByteCount = Int64(exactly: numbers.compressedByteCount),
            let localOffset = Int64(exactly: numbers.localOffset)
        else { return nil }
        let (place, overflows) = localOffset.addingReportingOverflow(shift)
        guard !overflows, place >= 0 else { return nil }
        self.byteCount = byteCount
        self.compressedByteCount = compressedByteCount
        self.localOffset = place
    }

    /// The range from the local header to the end of the data and of a data descriptor, assuming that the extra fields
    /// of the header are not much longer than the extra fields of this entry.
    var likelyRange: Range<Int64> {
        let headerByteCount = Int64(30 + self.nameByteCount + self.extraByteCount + 96)
        let (end, overflows) = self.localOffset.addingReportingOverflow(headerByteCount + self.compressedByteCount)
        return self.localOffset..<(overflows ? .max : end)
    }

    /// The bytes of the name in the directory and the local header.
    var rawName: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.bytes[Self.fixedByteCount..<Self.fixedByteCount + self.nameByteCount])
    }

    /// The name of the member, from the Unicode Path field if the entry has one.
    ///
    /// The backslashes of an MS-DOS writer are replaced by slashes, which 4.4.17.1 requires.
    var name: [UInt8] {
        let bytes = self.storedName
        guard self.hasBackslashes(bytes) else { return Array(bytes) }
        return bytes.map { $0 == UInt8(ascii: "\\") ? UInt8(ascii: "/") : $0 }
    }

    var endsWithSlash: Bool {
        let name = self.storedName
        return name.last == UInt8(ascii: "/") || name.last == UInt8(ascii: "\\") && self.hasBackslashes(name)
    }

    private var storedName: UnsafeRawBufferPointer {
        self.extraByteCount > 0 ? self.unicodeName ?? self.rawName : self.rawName
    }

    private func hasBackslashes(_ name: UnsafeRawBufferPointer) -> Bool {
        self.system == 0 && name.contains(UInt8(ascii: "\\")) && !name.contains(UInt8(ascii: "/"))
    }

    /// The name in Info-ZIP's Unicode Path field (4.6.9): a version, the CRC-32 of ``rawName``, and the name in UTF-8.
    private var unicodeName: UnsafeRawBufferPointer? {
        guard let field = self.extraFields.field(0x7075), field.count > 5, field[0] == 1,
            CRC32(of: self.rawName).value == field.number32(at: 1)
        else { return nil }
        return UnsafeRawBufferPointer(rebasing: field[5...])
    }

    var extraFields: ZipExtraFields {
        let start = Self.fixedByteCount + self.nameByteCount
        return ZipExtraFields(UnsafeRawBufferPointer(rebasing: self.bytes[start..<start + self.extraByteCount]))
    }

    /// The system that defines ``externalAttributes`` (4.4.2).
    var system: UInt8 { self.bytes[5] }
    var flags: UInt16 { self.bytes.number16(at: 8) }
    var method: UInt16 { self.bytes.number16(at: 10) }
    var time: UInt16 { self.bytes.number16(at: 12) }
    var date: UInt16 { self.bytes.number16(at: 14) }
    var checksum: UInt32 { self.bytes.number32(at: 16) }
    var externalAttributes: UInt32 { self.bytes.number32(at: 38) }

    /// The lowest offset at which the member can end: after a local header of at least 30 bytes, the name and the
    /// compressed bytes.
    var minimumEndOffset: Int64 {
        let (end, overflows) = (self.localOffset + 30 + Int64(self.nameByteCount))
            .addingReportingOverflow(self.compressedByteCount)
        return overflows ? .max : end
    }

    @inline(__always)
    func isNamed(_ name: [UInt8]) -> Bool {
        let own = self.storedName
        // Compares the last bytes first, because numbered names differ there.
        guard own.count == name.count, own.last == name.last || self.system == 0 else { return false }
        return self.hasBackslashes(own) ? self.name == name : name.withUnsafeBytes { own.isEqual(to: $0) }
    }

    /// Returns true if other programs show the member under this name.
    ///
    /// They cut off a name at its first zero byte, and decode a name in an unknown encoding as code page 437
    /// (APPNOTE.TXT, appendix D).
    func isShown(as name: [UInt8]) -> Bool {
        let own = self.name.prefix { $0 != 0 }
        if own.elementsEqual(name) { return true }
        guard self.flags & Self.utf8NameFlag == 0, name.contains(where: { $0 >= 0x80 }) else { return false }
        return String(validating: own, as: UTF8.self) == nil && CodePage437.decode(own) == name
    }

    /// Returns the member as shown in listings.
    func member(index: Int, _ clock: inout DOSClock) -> BlobMember {
        let kind = self.kind
        let mode = self.mode
        let encryption = self.encryption
        let hasChecksum = kind == .file && encryption?.hasChecksum != false
        return BlobMember(
            index: index, name: self.name, kind: kind,
            specialKind: kind == .special ? mode.flatMap(BlobMember.SpecialKind.init) : nil,
            byteCount: kind == .file ? self.byteCount : nil, modificationTime: self.modificationTime(&clock),
            permissions: mode.map { UInt16($0 & 0o7777) },
            checksum: hasChecksum ? BlobMember.text(ofChecksum: self.checksum) : nil,
            isEncrypted: encryption != nil)
    }

    /// The mode as in `stat(2)`; nil unless the writer's system has modes, as Unix and Darwin do (4.4.2.2).
    private var mode: UInt32? {
        let mode = self.externalAttributes >> 16
        return (self.system == 3 || self.system == 19) && mode != 0 ? mode : nil
    }

    var kind: BlobMember.Kind {
        let isFolder = self.endsWithSlash
        if let mode {
            switch BlobMember.Kind(mode: mode) {
            case .file: return isFolder ? .directory : .file
            // Info-ZIP stores the mode of the pipe for a member that it read from a pipe.
            case .special: return mode & 0o170000 == 0o010000 || self.byteCount > 0 ? .file : .special
            case let kind: return kind
            }
        }
        // MS-DOS: attribute bit 4 marks a folder.
        return isFolder || self.system == 0 && self.externalAttributes & 0x10 != 0 ? .directory : .file
    }

    private func modificationTime(_ clock: inout DOSClock) -> Date? {
        // Info-ZIP's "UT": flags, then seconds since 1970.
        if let field = self.extraFields.field(0x5455), field.count >= 5, field[0] & 1 != 0 {
            return Date(timeIntervalSince1970: Double(Int32(bitPattern: field.number32(at: 1))))
        }
        // 4.5.5, NTFS: a reserved number, then attribute 1 with three times in units of 100 ns since 1601.
        if let field = self.extraFields.field(0x000A), field.count >= 16, field.number16(at: 4) == 1 {
            let ticks = Double(field.number64(at: 8)) / 10_000_000
            return Date(timeIntervalSince1970: ticks - 11_644_473_600)
        }
        // Info-ZIP's older "UX": the times of access and modification.
        if let field = self.extraFields.field(0x5855), field.count >= 8 {
            return Date(timeIntervalSince1970: Double(Int32(bitPattern: field.number32(at: 4))))
        }
        return self.date == 0 ? nil : clock.time(date: self.date, time: self.time)
    }

    /// The encryption of the member; nil if it is not encrypted.
    var encryption: ZipEncryption? {
        guard self.flags & ZipEncryption.flags != 0 else { return nil }
        guard self.flags & (ZipEncryption.strongFlag | 1 << 13) == 0 else { return .unsupported }
        if self.method == ZipEncryption.aesMethod { return ZipEncryption(aes: self.extraFields) }
        // 6.1.6: if the CRC-32 of the member follows its bytes, writers use the time instead.
        let isDeferred = self.flags & 8 != 0
        return .traditional(check: isDeferred ? UInt8(self.time >> 8) : UInt8(self.checksum >> 24))
    }
}

/// The extra fields of an entry or a header (4.5.1), each with a kind, a length and that many bytes.
struct ZipExtraFields {
    private let bytes: UnsafeRawBufferPointer

    init(_ bytes: UnsafeRawBufferPointer) { self.bytes = bytes }

    /// Returns the first field of this kind, truncated at the end of the fields; nil if not found.
    func field(_ kind: UInt16) -> UnsafeRawBufferPointer? {
        var place = 0
        while place + 4 <= self.bytes.count {
            let end = min(place + 4 + Int(self.bytes.number16(at: place + 2)), self.bytes.count)
            if self.bytes.number16(at: place) == kind {
                return UnsafeRawBufferPointer(rebasing: self.bytes[(place + 4)..<end])
            }
            place = end
        }
        return nil
    }
}

/// The numbers that an extra field contains, in this order, if they do not fit in 32 bits (4.5.3).
struct Zip64Numbers {
    private static let zip64Placeholder: UInt64 = 0xFFFF_FFFF

    private(set) var byteCount: UInt64
    private(set) var compressedByteCount: UInt64
    private(set) var localOffset: UInt64 = 0

    var areMissing: Bool {
        self.byteCount == Self.zip64Placeholder || self.compressedByteCount == Self.zip64Placeholder
            || self.localOffset == Self.zip64Placeholder
    }

    init(byteCount: UInt64, compressedByteCount: UInt64, localOffset: UInt64 = 0) {
        self.byteCount = byteCount
        self.compressedByteCount = compressedByteCount
        self.localOffset = localOffset
    }

    mutating func fill(from fields: ZipExtraFields) {
        guard let field = fields.field(1) else { return }
        var place = 0
        func take(_ number: inout UInt64) {
            guard number == Self.zip64Placeholder, place + 8 <= field.count else { return }
            number = field.number64(at: place)
            place += 8
        }
        take(&self.byteCount)
        take(&self.compressedByteCount)
        take(&self.localOffset)
    }

    /// Returns true if each length is the member's length, or is zero because the length follows the bytes.
    func matches(_ entry: ZipEntry) -> Bool {
        (self.byteCount == 0 || self.byteCount == UInt64(entry.byteCount))
            && (self.compressedByteCount == 0 || self.compressedByteCount == UInt64(entry.compressedByteCount))
    }
}

/// A converter of MS-DOS times (4.4.6): in steps of two seconds, without a time zone, and interpreted as local time.
struct DOSClock {
    /// The last converted hour, cached because the time zone look-up in `mktime(3)` dominates the cost.
    private var hour: (date: UInt16, hour: UInt16, start: Double)?

    mutating func time(date: UInt16, time: UInt16) -> Date {
        let start: Double
        if let hour, hour.date == date, hour.hour == time >> 11 {
            start = hour.start
        } else {
            var parts = tm()
            parts.tm_year = Int32(date >> 9) + 80
            parts.tm_mon = Int32(date >> 5 & 15) - 1
            parts.tm_mday = Int32(date & 31)
            parts.tm_hour = Int32(time >> 11)
            parts.tm_isdst = -1
            start = Double(mktime(&parts))
            self.hour = (date, time >> 11, start)
        }
        return Date(timeIntervalSince1970: start + Double(time >> 5 & 63) * 60 + Double(time & 31) * 2)
    }
}

/// IBM's code page 437, the encoding of names in a zip that are neither UTF-8 nor marked as UTF-8 (APPNOTE.TXT,
/// appendix D).
enum CodePage437 {
    /// The characters from 0x80 to 0xFF; lower characters are ASCII.
    private static let upperHalf = Array(
        ("ÇüéâäàåçêëèïîìÄÅÉæÆôöòûùÿÖÜ¢£¥₧ƒáíóúñÑªº¿⌐¬½¼¡«»░▒▓│┤╡╢╖╕╣║╗╝╜╛┐└┴┬├─┼╞╟╚╔╩╦╠═╬╧╨╤╥╙╘╒╓╫╪┘┌█▄▌▐▀"
            + "αßΓπΣσµτΦΘΩδ∞φε∩≡±≥≤⌠⌡÷≈°∙·√ⁿ²■\u{A0}").unicodeScalars)

    /// Converts a name from the code page to UTF-8.
    static func decode(_ bytes: some Sequence<UInt8>) -> [UInt8] {
        bytes.flatMap { $0 < 0x80 ? [$0] : Array(String(Self.upperHalf[Int($0 - 0x80)]).utf8) }
    }
}
