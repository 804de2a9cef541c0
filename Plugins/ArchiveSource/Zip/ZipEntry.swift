import BlobCore

/// The facts about one member in the central directory of a zip.
struct ZipEntry: Equatable {
    /// The member as shown in listings.
    let member: BlobMember
    /// The bytes of the name in the directory and the local header.
    let rawName: [UInt8]
    private(set) var flags: UInt16
    private(set) var method: UInt16
    private(set) var checksum: UInt32
    private(set) var compressedByteCount: Int64
    private(set) var byteCount: Int64
    /// True if the entry has a field with 64-bit lengths.
    let hasZip64Field: Bool
    /// The encryption of the compressed bytes; nil if they are not encrypted.
    private(set) var encryption: ZipEncryption?
    /// The offset of the local header in the base.
    let localOffset: Int64

    var index: Int { self.member.index }
    var name: [UInt8] { self.member.name }
    var kind: BlobMember.Kind { self.member.kind }

    init(_ record: ZipRecord, index: Int) {
        var clock = DOSClock()
        self.member = record.member(index: index, &clock)
        self.rawName = Array(record.rawName)
        self.flags = record.flags
        self.method = record.method
        self.checksum = record.checksum
        self.compressedByteCount = record.compressedByteCount
        self.byteCount = record.byteCount
        self.hasZip64Field = record.extraFields.field(1) != nil
        self.encryption = record.encryption
        self.localOffset = record.localOffset
    }

    /// False if the directory has no CRC-32 of the bytes.
    var hasChecksum: Bool { self.encryption?.hasChecksum != false }

    /// The names of the checks of the decrypted bytes, including the authentication code of AES, which is verified
    /// before the end.
    var check: String? {
        guard self.encryption != nil else { return "CRC-32" }
        let names = [self.hasChecksum ? "CRC-32" : nil, self.encryption?.authentication]
        return names.compactMap(\.self).isEmpty ? nil : names.compactMap(\.self).joined(separator: ", ")
    }

    /// The member after decryption: a plain member with the same compressed bytes.
    var decryptedForm: ZipEntry {
        guard let encryption else { return self }
        var entry = self
        entry.flags &= ~ZipEncryption.flags
        if case .aes(_, _, let method) = encryption { entry.method = method }
        entry.compressedByteCount -= encryption.overhead.before + encryption.overhead.after
        return entry
    }

    /// The member before decryption: an encrypted, stored member whose content is the compressed bytes.
    var encryptedForm: ZipEntry {
        var entry = self
        entry.flags = 1
        entry.byteCount = self.decryptedForm.compressedByteCount
        if case .traditional(let check) = self.encryption {
            // libarchive reads the expected check from the CRC-32.
            (entry.method, entry.checksum) = (0, UInt32(check) << 24)
        }
        return entry
    }

    /// Returns true if a record has the same facts; two such entries represent one member.
    func isSame(as record: ZipRecord) -> Bool {
        self.localOffset == record.localOffset && ZipEntry(record, index: self.index) == self
    }

    /// Checks that the local header of the member matches this entry, and that its bytes overlap no other member
    /// (4.3.7).
    ///
    /// Corrects lengths that a writer without zip64 truncated.
    ///
    /// - Parameters:
    ///   - surroundings: The bounds of the member's header and bytes: the end of earlier members, and the start of the
    ///     next header.
    /// - Returns: The range of the member's compressed bytes in the base.
    /// - Throws: ``BlobError/Code/inconsistent`` if the header does not match, or if the bytes overlap; errors from the
    ///   base.
    mutating func locate(
        _ scanner: ArchiveScanner, within surroundings: ZipMemberBounds
    ) throws(BlobError) -> Range<Int64> {
        let fixed = try scanner.bytes(at: self.localOffset, count: 30)
        let (nameByteCount, extraByteCount) = (Int(fixed.number16(at: 26)), Int(fixed.number16(at: 28)))
        guard fixed.number32(at: 0) == 0x0403_4B50 else { throw self.mismatchError("local header") }
        let header = try scanner.bytes(at: self.localOffset, count: 30 + nameByteCount + extraByteCount)
        guard header.count == 30 + nameByteCount + extraByteCount else { throw self.mismatchError("local header") }
        let flags = header.number16(at: 6)
        guard header.number16(at: 8) == self.method else { throw self.mismatchError("compression method") }
        guard self.isNamed(header[30..<(30 + nameByteCount)], isUTF8: flags & ZipRecord.utf8NameFlag != 0) else {
            throw self.mismatchError("name")
        }
        let extra = ZipExtraFields(UnsafeRawBufferPointer(rebasing: header[(30 + nameByteCount)...]))
        guard (flags ^ self.flags) & ZipEncryption.flags == 0, self.encryption?.isDeclared(in: extra) != false else {
            throw self.mismatchError("encryption")
        }
        let start = self.localOffset + Int64(header.count)
        let (declaredEnd, overflows) = start.addingReportingOverflow(self.compressedByteCount)
        guard !overflows, declaredEnd <= surroundings.nextRecordOffset,
            surroundings.precedingEndOffset <= self.localOffset
        else {
            throw BlobError(
                .inconsistent, "The member overlaps another part of the zip archive.",
                byteOffset: self.localOffset)
        }
        let checksum = header.number32(at: 14)
        var numbers = Zip64Numbers(
            byteCount: UInt64(header.number32(at: 22)), compressedByteCount: UInt64(header.number32(at: 18)))
        if numbers.areMissing { numbers.fill(from: extra) }
        // 4.4.4, bit 3: the numbers follow the bytes, and a number is zero here if the writer did not know it in
        // advance.
        let isDeferred = flags & 8 != 0
        let hasChecksum = checksum == self.checksum
        guard hasChecksum || isDeferred && checksum == 0 else { throw self.mismatchError("checksum") }
        let hasLengths =
            numbers.byteCount == UInt64(self.byteCount)
            && numbers.compressedByteCount == UInt64(self.compressedByteCount)
        guard hasLengths || isDeferred && numbers.matches(self) else { throw self.mismatchError("length") }
        self.unwrapLengths(before: surroundings.nextRecordOffset - declaredEnd)
        let end = start + self.compressedByteCount
        if !hasChecksum || !hasLengths {
            try self.checkDescriptor(scanner, at: end, before: surroundings.nextRecordOffset)
        }
        return start..<end
    }

    /// Treats the lengths as modulo 2^32 if the bytes then end at the next member, or before it with a gap no longer
    /// than the longest data descriptor.
    private mutating func unwrapLengths(before gap: Int64) {
        let (wraps, rest) = gap.quotientAndRemainder(dividingBy: WrappedLength.modulus)
        guard !self.hasZip64Field, wraps > 0, rest <= 24 else { return }
        self.compressedByteCount += gap - rest
        if self.decryptedForm.method == ZipStream.Method.stored.rawValue { self.byteCount += gap - rest }
    }

    /// Returns true if a local header has the same name, considering that each of the two headers declares its own
    /// encoding.
    private func isNamed(_ name: Slice<UnsafeRawBufferPointer>, isUTF8: Bool) -> Bool {
        if name.elementsEqual(self.rawName) { return true }
        guard isUTF8 != (self.flags & ZipRecord.utf8NameFlag != 0) else { return false }
        return isUTF8
            ? name.elementsEqual(CodePage437.decode(self.rawName))
            : CodePage437.decode(name) == self.rawName
    }

    /// Checks the data descriptor (4.3.9), in any form that fits before `next`: with or without a signature, and with
    /// lengths in 32 or 64 bits.
    private func checkDescriptor(
        _ scanner: ArchiveScanner, at place: Int64, before next: Int64
    ) throws(BlobError) {
        let bytes = try scanner.bytes(at: place, count: Int(min(24, max(0, next - place))))
        for start in [4, 0] where start == 0 || bytes.number32(at: 0) == 0x0807_4B50 {
            guard bytes.number32(at: start) == self.checksum else { continue }
            let short = (bytes.number32(at: start + 4), bytes.number32(at: start + 8))
            let long = (bytes.number64(at: start + 4), bytes.number64(at: start + 12))
            if start + 12 <= bytes.count,
                short == (
                    UInt32(truncatingIfNeeded: self.compressedByteCount), UInt32(truncatingIfNeeded: self.byteCount)
                )
            {
                return
            }
            if start + 20 <= bytes.count, long == (UInt64(self.compressedByteCount), UInt64(self.byteCount)) { return }
        }
        throw self.mismatchError("data descriptor")
    }

    private func mismatchError(_ what: String) -> BlobError {
        BlobError(
            .inconsistent, "The directory of the zip archive does not match the \(what) stored with the member.",
            byteOffset: self.localOffset)
    }

    /// Returns a zip with only this member: a local header made from the directory, which matched the original local
    /// header, the bytes, and an empty directory.
    func singleMemberZip(over data: any BlobInputStreamDataSource) -> any BlobInputStreamDataSource {
        let end: [UInt8] = [0x50, 0x4B, 5, 6] + Array(repeating: 0, count: 18)
        return ConcatenatedSource([MemorySource(self.localHeader), data, MemorySource(end)])
    }

    /// A local header (4.3.7) made from the facts in the directory.
    private var localHeader: [UInt8] {
        let extra: [UInt8] =
            self.isZip64
            ? Self.bytes(UInt16(1)) + Self.bytes(UInt16(16)) + Self.bytes(self.byteCount)
                + Self.bytes(self.compressedByteCount)
            : []
        let fields = extra + (self.flags & 1 != 0 ? self.encryption?.storedField ?? [] : [])
        let lengths =
            self.isZip64 ? [.max, .max] : [UInt32(self.compressedByteCount), UInt32(self.byteCount)]
        let version: UInt16 = self.isZip64 ? 45 : 20
        // Keeps only flag bits 0 (encryption) and 1 (how LZMA ends), because this header contains the lengths. The name
        // is not used.
        return [0x50, 0x4B, 3, 4] + Self.bytes(version) + Self.bytes(self.flags & 3) + Self.bytes(self.method)
            + Self.bytes(UInt32(0)) + Self.bytes(self.checksum) + lengths.flatMap { Self.bytes($0) }
            + Self.bytes(UInt16(1)) + Self.bytes(UInt16(fields.count)) + [UInt8(ascii: "m")] + fields
    }

    private var isZip64: Bool { max(self.byteCount, self.compressedByteCount) >= Int64(UInt32.max) }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}

/// The bounds that other parts of a zip set for a member.
struct ZipMemberBounds: Equatable {
    /// The lowest offset at which all earlier members may have ended; the maximum if another member has the same local
    /// header.
    var precedingEndOffset: Int64
    /// The offset of the next local header, or of the directory.
    var nextRecordOffset: Int64
}

/// The encryption of a member of a zip.
enum ZipEncryption: Equatable {
    /// The traditional encryption of PKWARE (APPNOTE.TXT 6.1).
    ///
    /// - Parameter check: The expected last byte of the encryption header, which detects most wrong passwords.
    case traditional(check: UInt8)

    /// WinZip's AES (https://www.winzip.com/en/support/aes-encryption/): with 128, 192 or 256 bits, with a CRC-32 of
    /// the bytes (AE-1) or without one (AE-2).
    case aes(bitCount: Int, version: UInt16, method: UInt16)

    /// Strong encryption (7), a masked directory, or AES with unknown parameters; none of these can be decoded.
    case unsupported

    /// The general purpose bits 0 (any encryption) and 13 (masked values in headers; 4.4.4).
    static let flags: UInt16 = 1 | 1 << 13

    /// General purpose bit 6 (strong encryption).
    static let strongFlag: UInt16 = 1 << 6

    static let aesMethod: UInt16 = 99
    private static let aesField: UInt16 = 0x9901

    /// The numbers of bytes before the encrypted bytes (random bytes, or a salt and a password check) and after them
    /// (an authentication code).
    var overhead: (before: Int64, after: Int64) {
        switch self {
        case .traditional: (12, 0)
        case .aes(let bitCount, _, _): (Int64(bitCount / 16 + 2), 10)
        case .unsupported: (0, 0)
        }
    }

    /// False if the directory has no CRC-32 of the bytes, because an authentication code protects them.
    var hasChecksum: Bool { if case .aes(_, version: 2, _) = self { false } else { true } }

    /// The name of the authentication code of the encrypted bytes; nil except for AES.
    var authentication: String? { if case .aes = self { "HMAC-SHA1" } else { nil } }

    /// The name of the encryption in listings of facts.
    var name: String {
        switch self {
        case .traditional: "ZipCrypto"
        case .aes(let bitCount, let version, _): "AES-\(bitCount), AE-\(version)"
        case .unsupported: "unsupported"
        }
    }

    /// Returns true if a local header declares the same parameters; always true except for AES.
    func isDeclared(in fields: ZipExtraFields) -> Bool {
        guard case .aes = self else { return true }
        return ZipEncryption(aes: fields) == self
    }

    /// An extra field that declares the bytes of an AES member as stored and protected only by their authentication
    /// code.
    var storedField: [UInt8] {
        guard case .aes(let bitCount, _, _) = self else { return [] }
        return [0x01, 0x99, 7, 0, 2, 0] + Array("AE".utf8) + [UInt8(bitCount / 64 - 1), 0, 0]
    }

    init(aes fields: ZipExtraFields) {
        self = .unsupported
        guard let field = fields.field(Self.aesField), field.count >= 7, field[2...3].elementsEqual("AE".utf8) else {
            return
        }
        let (version, strength) = (field.number16(at: 0), Int(field[4]))
        guard 1...2 ~= version, 1...3 ~= strength else { return }
        self = .aes(bitCount: 64 * (strength + 1), version: version, method: field.number16(at: 5))
    }
}
