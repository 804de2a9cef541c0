#if Crypto
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// The decryption of a packed stream of a 7z.
@Suite struct DecryptedSourceTests {
    /// NIST SP 800-38A, F.2.6, CBC-AES256.Decrypt, whose vector is 0 to 15.
    private static let key = bytes("603deb1015ca71be2b73aef0857d77811f352c073b6108d72d9810a30914dff4")
    private static let standard = (
        encrypted: bytes(
            "f58c4c04d6e5f1ba779eabfb5f7bfbd69cfc4e967edb808d679f777bc6702c7d"
                + "39f23369a9d9bacfa530e26304231461b2eb05e2c39be9fcda6c19078c6a9d1b"),
        plain: bytes(
            "6bc1bee22e409f96e93d7e117393172aae2d8a571e03ac9c9eb76fac45af8e51"
                + "30c81c46a35ce411e5fbc1191a0a52eff69f2445df4f9b17ad2b417be66c3710")
    )
    /// More than is decrypted at a time.
    private static let encrypted = Data((0..<70_016).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })

    private static func bytes(_ text: String) -> [UInt8] {
        stride(from: 0, to: text.count, by: 2).compactMap { UInt8(text.dropFirst($0).prefix(2), radix: 16) }
    }

    private static func source(
        _ base: any BlobInputStreamDataSource, packedByteCount: Int = encrypted.count, byteCount: Int
    ) throws -> DecryptedSource {
        // A key that is not hashed: the salt, and the password in UTF-16.
        let encryption = try #require(SevenZipEncryption([0xBF, 0xF0] + self.key.prefix(16)))
        let units = stride(from: 16, to: 32, by: 2).map { UInt16(self.key[$0]) | UInt16(self.key[$0 + 1]) << 8 }
        let secret = encryption.secret(String(decoding: units, as: UTF16.self))
        return try #require(
            DecryptedSource(
                base, packedByteCount: UInt64(packedByteCount), byteCount: UInt64(byteCount),
                secret.makeKey(BlobContext()), [UInt8](0..<16)))
    }

    private static func plain(_ byteCount: Int) throws -> Data {
        try self.source(MemorySource(self.encrypted), byteCount: byteCount).data(upTo: 1 << 20)
    }

    @Test func blocksAreDecryptedAsTheStandardSays() async throws {
        let (encrypted, plain) = Self.standard
        // Once, and as more blocks than are decrypted at a time; a block depends on the one before it alone.
        for count in [1, 2, 1200] {
            let source = try Self.source(
                MemorySource([UInt8](repeatElement(encrypted, count: count).joined())),
                packedByteCount: 64 * count, byteCount: 64 * count)
            let bytes = try await onThread { try [UInt8](source.data(upTo: 1 << 20)) }
            #expect(bytes.prefix(64) == plain[...])
            #expect(bytes.suffix(48) == plain.suffix(48))
        }
    }

    /// The last blocks hold no more than the content, a part of a block more, or whole blocks more.
    @Test(arguments: [70_016, 70_001, 65_537, 17, 16, 1, 0])
    func contentOfAnyLengthKeepsEveryContract(byteCount: Int) async throws {
        let source = try Self.source(MemorySource(Self.encrypted), byteCount: byteCount)
        let plain = try await onThread { try Self.plain(byteCount) }
        expectNone(await violations(of: source, expecting: plain))
    }

    @Test func bytesThatComeOneByOneAreDecrypted() async throws {
        try await onThread {
            let plain = try Self.plain(1000)
            let source = try Self.source(OneByteSource(bytes: Self.encrypted.prefix(1024)), byteCount: 1000)
            for offset in [0, 1, 15, 16, 17, 31, 32, 33, 999, 1000] {
                #expect(try source.slice(Int64(offset)...).data(upTo: 1000) == plain.dropFirst(offset))
            }
        }
    }

    @Test(arguments: [0, 1, 16, 69_999]) func encryptedBytesThatEndEarlyAreTruncated(byteCount: Int) async throws {
        let source = try Self.source(MemorySource(Self.encrypted.prefix(byteCount)), byteCount: 70_000)
        try await onThread {
            let error = #expect(throws: BlobError.self) { try source.data(upTo: 1 << 20) }
            #expect(error?.code == .truncated && error?.byteOffset == Int64(byteCount))
        }
    }
}
#endif
