import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// What asks for too much, and what cannot be vouched for.
@Suite struct LimitTests {
    @Test(arguments: [
        // LZMA2 with 1 GiB, lzip with 512 MiB, LZMA and Zstandard with 256 MiB and more.
        (CompressionFormat.xz, 16, [UInt8(36)]), (.lzip, 5, [29]), (.lzma, 1, [0, 0, 0, 0x10]),
    ])
    func aWindowThatIsTooLargeIsRefused(_ format: CompressionFormat, place: Int, bytes: [UInt8]) async throws {
        guard var stream = try await Made.optional("stream.\(format.fileExtensions[0].suffix)") else { return }
        let window = try #require(format.windowByteCount([UInt8](stream)))
        #expect(window <= BlobContext().memoryLimit)
        stream.replaceSubrange(place..<(place + bytes.count), with: bytes)
        let source = DecompressedSource(MemorySource(stream), format: format)
        #expect(try await onThread { codeThrown { try source.data(upTo: 1 << 20) } } == .limitExceeded)
    }

    @Test func aWindowOfZstandardThatIsTooLargeIsRefused() async throws {
        let header: [UInt8] = [0x28, 0xB5, 0x2F, 0xFD, 0, 18 << 3, 1, 0, 0]
        #expect(CompressionFormat.zstd.windowByteCount(header) == 256 << 20)
        let source = DecompressedSource(MemorySource(header), format: .zstd)
        #expect(try await onThread { codeThrown { try source.data(upTo: 1 << 20) } } == .limitExceeded)
    }

    @Test(arguments: [
        ("stream.bz2", CompressionFormat.bzip2, true), ("stream.xz", .xz, true), ("stream.lzma", .lzma, false),
        ("stream.zst", .zstd, true), ("stream.lz4", .lz4, true), ("stream.lz", .lzip, true),
        ("stream.Z", .compress, false),
    ])
    func whetherAChecksumVouchesForTheBytesIsTold(file: String, format: CompressionFormat, has: Bool) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        let facts = try await onThread {
            try DecompressedSource(MemorySource(bytes), format: format).facts(BlobContext())
        }
        #expect(facts.map(\.name) == ["has checksum"] && facts[0].value as? Bool == has)
    }

    @Test func whatTheArchiveSaysOfAMemberIsTold() async throws {
        let (tarred, zipped) = (try await Made.archive("a.tar"), try await Made.archive("kinds.zip"))
        try await onThread {
            let member = try tar(tarred).member(.name("hard"), context: BlobContext()) as? any BlobDescribing
            let facts = try #require(try member?.facts(BlobContext()))
            #expect(facts.first { $0.name == "hard link to" }?.value as? String == "d/a.txt")
            #expect(facts.first { $0.name == "checksum" }?.value as? String == "none in this format")
            let other = try zip(zipped).member(.index(1), context: BlobContext()) as? any BlobDescribing
            let otherFacts = try #require(try other?.facts(BlobContext()))
            #expect(otherFacts.first { $0.name == "permissions" }?.value as? String == "750")
            #expect(otherFacts.first { $0.name == "checksum" }?.value as? String == "crc32:352441c2")
            let time = otherFacts.first { $0.name == "modification time" }?.value
            #expect(time as? Date == Date(timeIntervalSince1970: 1.7e9))
        }
    }

    @Test func aHeaderThatIsTooLongIsRefused() async throws {
        var header = [UInt8](try await Made.archive("tiny-gnu.tar").prefix(512))
        header.replaceSubrange(124..<136, with: Array("00100000000\0".utf8))
        header[156] = UInt8(ascii: "L")
        for index in 148..<156 { header[index] = 0x20 }
        let sum = String(header.reduce(0) { $0 + Int($1) }, radix: 8)
        header.replaceSubrange(
            148..<156, with: Array((String(repeating: "0", count: 6 - sum.count) + sum + "\0 ").utf8))
        #expect(try await tar(Data(header) + Data(count: 4096)).code(.index(0)) == .limitExceeded)
    }
}
