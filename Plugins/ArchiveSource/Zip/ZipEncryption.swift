/// The encryption of a member of a zip.
enum ZipEncryption: Equatable {
    /// The traditional encryption of PKWARE (APPNOTE.TXT 6.1).
    ///
    /// - Parameter check: The expected last byte of the encrypted header, which shows most wrong passwords.
    case traditional(check: UInt8)

    /// WinZip's AES (https://www.winzip.com/en/support/aes-encryption/): with 128, 192 or 256 bits, over the CRC-32 of
    /// the bytes (AE-1) or without one (AE-2).
    case aes(bitCount: Int, version: UInt16, method: UInt16)

    /// Strong encryption (7), a masked directory, or AES with unknown parameters: none can be decoded.
    case unsupported

    /// The general purpose bits 0, any encryption, and 13, which masks values in headers too (4.4.4).
    static let flags: UInt16 = 1 | 1 << 13

    /// General purpose bit 6, strong encryption.
    fileprivate static let strongFlag: UInt16 = 1 << 6

    fileprivate static let aesMethod: UInt16 = 99
    private static let aesField: UInt16 = 0x9901

    /// The numbers of bytes before and behind the encrypted ones: random bytes or a salt and a password check, and an
    /// authentication code.
    var overhead: (before: Int64, behind: Int64) {
        switch self {
        case .traditional: (12, 0)
        case .aes(let bitCount, _, _): (Int64(bitCount / 16 + 2), 10)
        case .unsupported: (0, 0)
        }
    }

    /// False when the directory has no CRC-32 of the bytes, which an authentication code protects.
    var hasChecksum: Bool { if case .aes(_, version: 2, _) = self { false } else { true } }

    /// The authentication code of the encrypted bytes; nil when there is none.
    var authentication: String? { if case .aes = self { "HMAC-SHA1" } else { nil } }

    /// The name for listings of facts.
    var name: String {
        switch self {
        case .traditional: "ZipCrypto"
        case .aes(let bitCount, let version, _): "AES-\(bitCount), AE-\(version)"
        case .unsupported: "unsupported"
        }
    }

    /// Returns true when a local header has the same parameters, which of the methods here only AES has.
    func isDeclared(in fields: ZipExtraFields) -> Bool {
        guard case .aes = self else { return true }
        return ZipEncryption(aes: fields) == self
    }

    /// An extra field that declares the bytes of an AES member as stored, and protected by their code alone.
    var storedField: [UInt8] {
        guard case .aes(let bitCount, _, _) = self else { return [] }
        return [0x01, 0x99, 7, 0, 2, 0] + Array("AE".utf8) + [UInt8(bitCount / 64 - 1), 0, 0]
    }

    fileprivate init(aes fields: ZipExtraFields) {
        self = .unsupported
        guard let field = fields.field(Self.aesField), field.count >= 7, field[2...3].elementsEqual("AE".utf8) else {
            return
        }
        let (version, strength) = (field.number16(at: 0), Int(field[4]))
        guard 1...2 ~= version, 1...3 ~= strength else { return }
        self = .aes(bitCount: 64 * (strength + 1), version: version, method: field.number16(at: 5))
    }
}

extension ZipRecord {
    /// The encryption of the member; nil when it has none.
    var encryption: ZipEncryption? {
        guard self.flags & ZipEncryption.flags != 0 else { return nil }
        guard self.flags & (ZipEncryption.strongFlag | 1 << 13) == 0 else { return .unsupported }
        if self.method == ZipEncryption.aesMethod { return ZipEncryption(aes: self.extraFields) }
        // 6.1.6: of a member whose CRC-32 follows its bytes, writers take the time.
        let isDeferred = self.flags & 8 != 0
        return .traditional(check: isDeferred ? UInt8(self.time >> 8) : UInt8(self.checksum >> 24))
    }
}
