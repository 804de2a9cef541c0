import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Damaged zips with encrypted members: right bytes or an error, never other bytes with success.
@Suite struct EncryptedZipDamageTests {
    /// The range of the encrypted bytes of the first member.
    private static func data(_ bytes: Data) -> Range<Int> {
        let fixed = Array(bytes.prefix(30))
        let start = 30 + Int(fixed[26]) + Int(fixed[27]) << 8 + Int(fixed[28]) + Int(fixed[29]) << 8
        let entry = bytes.range(of: Data([0x50, 0x4B, 1, 2]))?.lowerBound ?? 0
        let count = Array(bytes[(entry + 20)..<(entry + 24)]).reversed().reduce(0) { $0 << 8 | Int($1) }
        return start..<(start + count)
    }

    @Test(arguments: [
        ("pyzipper-ae1-pipe.zip", true), ("pyzipper-ae2-pipe.zip", true), ("7zip-bzip2.zip", true),
        ("7zip-lzma.zip", true), ("infozip-pipe-stored.zip", false),
    ])
    func everyFlippedBitOfTheDataIsFound(file: String, hasCode: Bool) async throws {
        let bytes = try Fixture.bytes(file)
        let range = Self.data(bytes)
        try await onThread {
            for place in range {
                let damaged = bytes.flipping(1 << UInt8(place % 8), at: place)
                let error = zip(damaged).failure(.index(0), BlobContext(password: "secret"))
                // The authentication code is over all bytes, and libarchive is given the check in two of them.
                #expect(error != nil, "\(place)")
                if place >= range.upperBound - 10, hasCode {
                    #expect(error?.code == .checksumMismatch)
                    #expect(error?.message.contains("authentication code") == true)
                }
            }
        }
    }

    @Test func damagedStoredDataOfAE2IsFoundByItsCode() async throws {
        // 7-Zip leaves out the checksum here.
        let bytes = try Fixture.bytes("7zip-aes256-stored.zip")
        let place = try #require(bytes.range(of: Data("short".utf8))).upperBound + 11 + 18 + 100
        let damaged = bytes.flipping(at: place)
        let error = zip(damaged).failure(.name("short"), BlobContext(password: "secret"))
        #expect(error?.code == .checksumMismatch)
        #expect(error?.message.contains("authentication code") == true, "\(String(describing: error))")
    }

    @Test(arguments: ["infozip-utf8.zip", "7zip-aes192.zip", "7zip-bzip2.zip", "pyzipper-ae2-pipe.zip"])
    func changedAndTruncatedArchivesGiveTheRightBytesOrAnError(file: String) async throws {
        let bytes = try Fixture.bytes(file)
        let password = file.contains("utf8") ? "pässwörd€" : "secret"
        try await onThread {
            for place in bytes.indices {
                for flip in [UInt8(1) << UInt8(place % 8), 0xFF] {
                    let damaged = bytes.flipping(flip, at: place)
                    let data = try? zip(damaged).data(.name("short"), password: password)
                    #expect(data == nil || data == Fixture.short, "\(file) \(place)")
                }
                // The directory is at the end.
                let prefix = Data(bytes.prefix(place))
                #expect((try? zip(prefix).data(.name("short"), password: password)) == nil, "\(file) \(place)")
            }
        }
    }

    @Test func aMemberShorterThanItsEncryptionIsCorrupted() async throws {
        for (file, overhead) in [("infozip-utf8.zip", 12), ("pyzipper-ae2-pipe.zip", 28)] {
            var bytes = try Fixture.bytes(file)
            let entry = try #require(bytes.range(of: Data([0x50, 0x4B, 1, 2]))).lowerBound
            let descriptor = try #require(bytes.range(of: Data([0x50, 0x4B, 7, 8]))).lowerBound
            for place in [18, descriptor + 8, entry + 20] where bytes[place] != 0 { bytes[place] = UInt8(overhead - 1) }
            let error = zip(bytes).failure(.index(0), BlobContext(password: "secret"))
            #expect([.corrupted, .inconsistent].contains(error?.code), "\(String(describing: error))")
        }
    }
}
