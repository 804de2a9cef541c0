import BlobCore

extension BlobMember {
    /// Formats a checksum for a member: `crc32:` and eight digits. Fast, because a listing formats one for each member.
    static func text(ofChecksum checksum: UInt32) -> String {
        String(unsafeUninitializedCapacity: 14) { buffer in
            _ = buffer.initialize(from: "crc32:".utf8)
            for place in 0..<8 {
                let digit = UInt8(truncatingIfNeeded: checksum >> (28 - 4 * UInt32(place)) & 15)
                buffer[6 + place] = digit < 10 ? 0x30 + digit : 0x61 - 10 + digit
            }
            return 14
        }
    }

    /// Parses the checksum of a member; returns nil for a text in any other form.
    static func checksum(ofText text: String) -> UInt32? {
        guard text.utf8.count == 14, text.utf8.starts(with: "crc32:".utf8) else { return nil }
        var number: UInt32 = 0
        for byte in text.utf8.dropFirst(6) {
            switch byte {
            case 0x30...0x39: number = number << 4 | UInt32(byte - 0x30)
            case 0x61...0x66: number = number << 4 | UInt32(byte - 0x61 + 10)
            default: return nil
            }
        }
        return number
    }
}
