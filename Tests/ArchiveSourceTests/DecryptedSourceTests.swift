import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// The decryption of a packed stream of a 7z.
@Suite struct DecryptedSourceTests {
    private static let encrypted = Data((0..<70_016).map { UInt8(truncatingIfNeeded: $0 &* 7 &+ $0 >> 8) })
    private static let key = AES256(key: 0..<32)
    private static let initialVector = [UInt8](100..<116)

    private static func source(
        _ base: any BlobInputStreamDataSource, byteCount: Int
    ) throws -> DecryptedSource {
        try #require(
            DecryptedSource(
                base, packedByteCount: UInt64(self.encrypted.count), byteCount: UInt64(byteCount), self.key,
                self.initialVector))
    }

    private static func plain(_ byteCount: Int) -> Data {
        var (bytes, previous) = (self.encrypted, self.initialVector)
        bytes.withUnsafeMutableBytes { self.key.decrypt($0, after: &previous) }
        return bytes.prefix(byteCount)
    }

    /// The last blocks hold no more than the content, a part of a block more, or whole blocks more.
    @Test(arguments: [70_016, 70_001, 65_537, 17, 16, 1, 0])
    func contentOfAnyLengthKeepsEveryContract(byteCount: Int) async throws {
        let source = try Self.source(MemorySource(Self.encrypted), byteCount: byteCount)
        expectNone(await violations(of: source, expecting: Self.plain(byteCount)))
    }

    @Test func bytesThatComeOneByOneAreDecrypted() async throws {
        let plain = Self.plain(1000)
        try await onThread {
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
