import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// The limit for what memory decoding takes, wherever in an archive it is asked for.
@Suite struct MemoryLimitTests {
    @Test(arguments: [
        ("second-block.xz", CompressionFormat.xz), ("second-stream.xz", .xz), ("second-member.lz", .lzip),
    ])
    func aLaterWindowThatIsTooLargeIsRefused(file: String, format: CompressionFormat) async throws {
        let bytes = try await Made.archive(file)
        try await onThread {
            // However the bytes come.
            for base in [MemorySource(bytes) as any BlobInputStreamDataSource, OneByteSource(bytes: bytes)] {
                let source = DecompressedSource(base, format: format)
                let error = #expect(throws: BlobError.self) { try source.data(upTo: 1 << 20) }
                #expect(error?.code == .limitExceeded)
                #expect(error?.message.contains("134217728") == true)
            }
        }
    }

    @Test(arguments: [("blocks.xz", CompressionFormat.xz), ("members.lz", .lzip)])
    func windowsUpToTheLimitAreRead(file: String, format: CompressionFormat) async throws {
        let bytes = try await Made.archive(file)
        let content = try await Made.archive("windowed")
        let expected = format == .xz ? content + content + content + content.prefix(9) : content + Data("text".utf8)
        try await onThread {
            for base in [MemorySource(bytes) as any BlobInputStreamDataSource, OneByteSource(bytes: bytes)] {
                let read = try DecompressedSource(base, format: format).data(upTo: 1 << 20)
                #expect(read == expected)
            }
        }
    }

    /// Wherever the stream is cut or changed: what the inspector loses, the library does not decode either.
    @Test func aChangedStreamNeverTakesMoreThanTheLimit() async throws {
        let bytes = try await Made.archive("second-stream.xz")
        let places = Array(0..<60) + Array(bytes.count - 120..<bytes.count)
        try await onThread {
            for place in places {
                for bit in 0..<8 {
                    let source = DecompressedSource(MemorySource(bytes.flipping(1 << bit, at: place)), format: .xz)
                    let error = #expect(throws: BlobError.self) { try source.data(upTo: 1 << 20) }
                    #expect(error?.code != .misbehavingPlugin)
                }
            }
        }
    }

    @Test(arguments: ["lzma-window.zip", "xz-window.zip", "ppmd-model.zip", "zstd-window.zip"])
    func aMemberOfAZipThatTakesTooMuchIsRefused(file: String) async throws {
        #expect(try await zip(Made.archive(file)).code("m") == .limitExceeded)
    }

    @Test(arguments: ["lzma.zip", "xz.zip", "xz-streamed.zip"])
    func aMemberOfAZipInOtherFormatsIsRead(file: String) async throws {
        let expected = file == "lzma.zip" ? Data("text".utf8) : try await Made.archive("windowed")
        #expect(try await zip(Made.archive(file)).data("m") == expected)
        #expect(try await zip(Made.archive("empty-lzma.zip")).data("m").isEmpty)
    }

    @Test(arguments: [
        "header-window.7z", "header-window2.7z", "members.7z", "encoded-members.7z", "long-header.7z", "folders.7z",
    ])
    func a7zThatTakesTooMuchIsRefused(file: String) async throws {
        let archive = ArchiveContainer(MemorySource(try await Made.archive(file)), format: .sevenzip)
        #expect(try await archive.code("m") == .limitExceeded)
        await #expect(throws: BlobError.self) { try await archive.members() }
    }

    /// A listing decodes the header alone.
    @Test(arguments: ["window.7z", "window2.7z", "encoded-window.7z", "model.7z"])
    func a7zWhoseMembersTakeTooMuchIsListed(file: String) async throws {
        let archive = ArchiveContainer(MemorySource(try await Made.archive(file)), format: .sevenzip)
        #expect(try await archive.code("m") == .limitExceeded)
        #expect(try await archive.members().count == 1)
    }

    /// What is checked is what the library reads.
    @Test(arguments: [
        "astray-properties.7z", "astray-streams.7z", "astray-external.7z", "astray-length.7z", "astray-program.7z",
        "astray-division.7z",
    ])
    func aHeaderThatHidesWhatA7zTakesIsRefused(file: String) async throws {
        let source = MemorySource(try await Made.archive(file))
        try await onThread {
            let code = codeThrown {
                _ = try SevenZipHeader.check(source, BlobContext())
                _ = try ArchiveContainer(source, format: .sevenzip).member(
                    .name(Array("m".utf8)), context: BlobContext()
                )
                .data(upTo: 100)
            }
            #expect([.limitExceeded, .unsupported, .corrupted].contains(code), "\(file)")
        }
    }

    @Test(arguments: ["plain.7z", "encoded.7z", "encoded2.7z"])
    func a7zThatTakesNoMoreIsRead(file: String) async throws {
        let archive = ArchiveContainer(MemorySource(try await Made.archive(file)), format: .sevenzip)
        #expect(try await archive.data("m") == Data("text".utf8))
        #expect(try await archive.members().count == 1)
    }
}
