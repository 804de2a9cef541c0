import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Streams whose beginning does not show their format, and formats that are refused by name.
@Suite struct NamedFormatTests {
    /// A frame of LZ4 with one block that is stored, and no checksums.
    private static let lz4 = Data(
        [0x04, 0x22, 0x4D, 0x18, 0x60, 0x40, 0x82, 5, 0, 0, 0x80] + Array("hello".utf8) + [0, 0, 0, 0])
    /// A frame of Zstandard with one raw block.
    private static let zstd = Data([0x28, 0xB5, 0x2F, 0xFD, 0x20, 5, 0x29, 0, 0] + Array("hello".utf8))

    private static func skippable(_ kind: UInt8, _ count: Int) -> Data {
        Data([0x50 + kind, 0x2A, 0x4D, 0x18] + withUnsafeBytes(of: UInt32(count).littleEndian) { Array($0) })
            + Data(repeating: 0xFF, count: count)
    }

    private func identified(_ bytes: Data) async throws -> (scheme: String?, content: Data) {
        try await onThread {
            var registry = BlobRegistry()
            for provider in BlobProvider.archives { try registry.register(provider) }
            let (provider, source) = try registry.identify(MemorySource(bytes))
            guard let provider, case .filter(let decode) = provider.kind else { return (nil, Data()) }
            return (provider.schemes[0], try decode(source, BlobContext()).data(upTo: 1 << 20))
        }
    }

    @Test func skippableFramesMayPrecedeBothFormats() async throws {
        for before in [
            Data(), Self.skippable(0, 0), Self.skippable(15, 7), Self.skippable(3, 100) + Self.skippable(4, 1),
        ] {
            for between in [Data(), Self.skippable(1, 4)] {
                for (scheme, frame) in [("lz4", Self.lz4), ("zstd", Self.zstd)] {
                    let (found, content) = try await self.identified(before + frame + between + frame)
                    #expect(found == scheme)
                    #expect(content == Data("hellohello".utf8), "\(scheme), \(before.count), \(between.count)")
                }
            }
        }
    }

    @Test func aLongSkippableFrameIsReadInTheFormatThatIsNamed() async throws {
        let before = Self.skippable(2, 5000)
        for (format, frame) in [(CompressionFormat.lz4, Self.lz4), (.zstd, Self.zstd)] {
            let source = DecompressedSource(MemorySource(before + frame), format: format)
            #expect(try await onThread { try source.data(upTo: 99) } == Data("hello".utf8))
        }
        #expect(try await self.identified(before + Self.zstd).scheme == "zstd")
    }

    /// As of Windows' Explorer, which packs files over 2 GiB so.
    @Test func aMethodOfAZipThatIsNotReadHasItsName() async throws {
        var bytes = try await Made.archive("small.zip")
        // The methods of both headers of the first member (APPNOTE.TXT, 4.4.5).
        let entry = try #require(bytes.range(of: Data([0x50, 0x4B, 1, 2]))).lowerBound
        for place in [8, entry + 10] { bytes.replaceSubrange(place..<(place + 2), with: [9, 0]) }
        let archive = ArchiveContainer(MemorySource(bytes), format: .zip)
        #expect(try await archive.members().map(\.printableName) == ["one", "two"])
        let error = try await onThread {
            #expect(throws: BlobError.self) {
                try archive.member(.name("one"), context: BlobContext()).data(upTo: 100)
            }
        }
        #expect(error?.code == .unsupported && error?.message.contains("(9: deflation-64-bit)") == true)
        #expect(try await archive.code("two") == nil)
    }

    @Test func lzopIsRefusedByName() async throws {
        let bytes = Data([0x89, 0x4C, 0x5A, 0x4F, 0x00, 0x0D, 0x0A, 0x1A, 0x0A, 0x10, 0x30, 0x20])
        let error = await errorThrown { try await self.identified(bytes) }
        #expect(error?.code == .unsupported && error?.message.contains("lzop") == true)
    }

    @Test(arguments: ["declared-cp932.lzh", "cp932.lzh", "utf16.lzh"])
    func japaneseNamesInAnLHAAreUTF8(_ file: String) async throws {
        let names = try await ArchiveContainer(MemorySource(Fixture.bytes(file)), format: .lha).members()
            .map(\.printableName)
        #expect(names == ["日本語テスト.txt", "表示ソ.txt"].prefix(file.hasPrefix("declared") ? 1 : 2).map { $0 })
        let archive = ArchiveContainer(MemorySource(try Fixture.bytes(file)), format: .lha)
        #expect(try await archive.data("日本語テスト.txt") == Data("one one".utf8))
        if names.count > 1 { #expect(try await archive.data("表示ソ.txt") == Data("two".utf8)) }
    }

    @Test func undeclaredNamesNeedRandomAccess() async throws {
        let archive = ArchiveContainer(SequentialSource(try Fixture.bytes("cp932.lzh")), format: .lha)
        #expect(try await archive.code(.index(0)) == .unsupported)
        let utf16 = ArchiveContainer(SequentialSource(try Fixture.bytes("utf16.lzh")), format: .lha)
        #expect(try await utf16.members().count == 2)
    }
}
