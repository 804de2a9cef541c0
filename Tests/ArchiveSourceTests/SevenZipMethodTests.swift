import BlobBlocks
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Coders of 7z that libarchive does not know, and windows over the default limit. Fixtures/README.md has the commands.
@Suite struct SevenZipMethodTests {
    private static func fixture(_ name: String) throws -> MemorySource {
        MemorySource(try Fixture.bytes(name), validator: .strong(name))
    }

    private static let numbers = Data((1...5000).map { "\($0)\n" }.joined().utf8)
    private static let text = Data("the first text, the first text, the first text\n".utf8)
    @Test(arguments: ["arm64.7z", "arm64-copy.7z", "arm64-secret.7z"])
    func membersBehindTheFilterOfARM64AreRead(file: String) async throws {
        guard BranchDecoder.isAvailable(0x0A) else { return }
        let context = BlobContext(password: "secret")
        try await onThread {
            let archive = ArchiveContainer(try Self.fixture(file), format: .sevenzip)
            func read(_ name: String) throws -> Data {
                try archive.member(.name(Array(name.utf8)), context: context).data(upTo: 1 << 20, context: context)
            }
            // Also backwards, and the same one again.
            for _ in 0..<2 {
                #expect(try read("numbers") == Self.numbers)
                #expect(try read("a.txt") == Self.text)
                #expect(try read("code") == Fixture.bytes("arm64.code"))
                #expect(try read("empty").isEmpty)
            }
            let part = try archive.member(.name(Array("numbers".utf8)), context: context).slice(20_000...)
            #expect(try part.data(upTo: 1 << 20, context: context) == Self.numbers.dropFirst(20_000))
        }
    }

    @Test func aDamagedMemberBehindAFilterIsAnError() async throws {
        guard BranchDecoder.isAvailable(0x0A) else { return }
        var bytes = try Fixture.bytes("arm64-copy.7z")
        bytes[100] ^= 1
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        let names = ["a.txt", "code", "numbers"]
        var codes: [BlobError.Code] = []
        for name in names { if let code = try await archive.code(name) { codes.append(code) } }
        #expect(codes == [.checksumMismatch])
    }

    @Test(arguments: [("riscv.7z", "RISCV"), ("swap4.7z", "Swap4"), ("deflate64.7z", "Deflate64")])
    func aMethodThatIsNotReadHasItsName(file: String, name: String) async throws {
        guard file != "riscv.7z" || !BranchDecoder.isAvailable(0x0B) else { return }
        let archive = ArchiveContainer(try Self.fixture(file), format: .sevenzip)
        #expect(try await archive.members().count == 4)
        let error = try await onThread {
            #expect(throws: BlobError.self) {
                try archive.member(.name(Array("a.txt".utf8)), context: BlobContext()).data(upTo: 100)
            }
        }
        #expect(error?.code == .unsupported && error?.message.contains(name) == true, "\(error?.message ?? "")")
    }

    /// Windows of 256 MiB.
    @Test func aWindowIsReadWhenTheLimitAllowsIt() async throws {
        let numbers = Data((1...1000).map { "\($0)\n" }.joined().utf8)
        try await onThread {
            let archive = ArchiveContainer(try Self.fixture("window.7z"), format: .sevenzip)
            var sources: [(any BlobInputStreamDataSource, Data)] = [
                (try archive.member(.index(0), context: BlobContext()), Self.text)
            ]
            for format in [CompressionFormat.xz, .lzma, .zstd] {
                let name = format == .zstd ? "window.zst" : "window.\(format.rawValue)"
                let source = DecompressedSource(try Self.fixture(name), format: format)
                sources.append((source, format == .zstd ? numbers : Self.text))
            }
            for (source, expected) in sources {
                let error = #expect(throws: BlobError.self) { try source.data(upTo: 1 << 20) }
                #expect(error?.code == .limitExceeded && error?.message.contains("bytes of memory") == true)
                var context = BlobContext()
                context.memoryLimit = 256 << 20
                #expect(try source.data(upTo: 1 << 20, context: context) == expected)
                context.memoryLimit -= 1
                #expect(throws: BlobError.self) { try source.data(upTo: 1 << 20, context: context) }
            }
            #expect(try BlobArchive(Self.fixture("window.7z"), format: .sevenzip).members().count == 1)
        }
    }

    @Test func aZstandardStreamWithALargeWindowIsCheckedToItsEnd() async throws {
        let bytes = try Fixture.bytes("window.zst")
        try await onThread {
            var context = BlobContext()
            context.memoryLimit = 256 << 20
            func code(_ bytes: Data) -> BlobError.Code? {
                codeThrown {
                    try DecompressedSource(MemorySource(bytes), format: .zstd).data(upTo: 1 << 20, context: context)
                }
            }
            #expect(code(bytes) == nil)
            #expect(code(bytes + bytes) == nil)
            for count in [bytes.count - 1, bytes.count - 5, bytes.count / 2, 20] {
                #expect(code(bytes.prefix(count)) == .truncated, "\(count)")
            }
            #expect(code(bytes + Data("junk".utf8)) == .trailingData)
        }
    }
}
