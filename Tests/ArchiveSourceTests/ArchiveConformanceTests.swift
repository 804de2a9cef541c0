import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Members and filters against the conformance kit.
@Suite struct ArchiveConformanceTests {
    @Test(arguments: ["d/a.txt", "long", "empty", "hard"])
    func membersOfTarKeepEveryContract(name: String) async throws {
        let bytes = try await Made.archive("a.tar")
        let name = name == "long" ? "long/" + String(repeating: "n", count: 150) : name
        let expected = name.hasPrefix("long") ? Made.long : Data(name == "empty" ? "".utf8 : "hello".utf8)
        expectNone(
            await violations(of: try tar(bytes).member(.name(name), context: BlobContext()), expecting: expected))
        let file = try await Made.url("a.tar.gz")
        let gzipped = { @Sendable in
            GzipSource(MemorySource(try Data(contentsOf: file)), format: .gzip)
        }
        expectNone(
            await violations(
                of: try ArchiveContainer(gzipped(), format: .tar).member(.name(name), context: BlobContext()),
                expecting: expected))
    }

    @Test(arguments: [("in/a", Data("inner".utf8)), ("big", Made.big), ("stored", Data("as it is".utf8))])
    func membersOfZipKeepEveryContract(name: String, expected: Data) async throws {
        let bytes = try await Made.archive("a.zip")
        expectNone(
            await violations(of: try zip(bytes).member(.name(name), context: BlobContext()), expecting: expected))
        expectNone(
            await violations(
                of: try ArchiveContainer(SequentialSource(bytes), format: .zip)
                    .member(.name(name), context: BlobContext()), expecting: expected))
    }

    @Test func membersOfZipInTarInGzipKeepEveryContract() async throws {
        let bytes = try await Made.archive("a.tar.gz")
        expectNone(
            await violations(
                of: try ArchiveContainer(
                    ArchiveContainer(GzipSource(MemorySource(bytes), format: .gzip), format: .tar)
                        .member(.name("in.zip"), context: BlobContext()), format: .zip
                ).member(.name("big"), context: BlobContext()), expecting: Made.big))
    }

    @Test func membersOfSevenZipKeepEveryContract() async throws {
        guard let bytes = try await Made.optional("a.7z") else { return }
        let source = MemorySource(bytes)
        expectNone(
            await violations(
                of: try ArchiveContainer(source, format: .sevenzip).member(.name("stream"), context: BlobContext()),
                expecting: try await Made.archive("stream")))
    }

    @Test(arguments: [("links.cpio", ArchiveFormat.cpio, "plain", "plain bytes"), ("a.ar", .ar, "two", "even")])
    func membersOfTheOthersKeepEveryContract(
        file: String, format: ArchiveFormat, name: String, expected: String
    ) async throws {
        let bytes = try await Made.archive(file)
        expectNone(
            await violations(
                of: try ArchiveContainer(MemorySource(bytes), format: format)
                    .member(.name(name), context: BlobContext()), expecting: Data(expected.utf8)))
    }

    @Test(arguments: CompressionFormat.allCases, ["stream", "none"])
    func filtersKeepEveryContract(_ format: CompressionFormat, content: String) async throws {
        let suffix = format.fileExtensions[0].suffix
        guard let bytes = try await Made.optional("\(content).\(suffix == "z" ? "Z" : suffix)") else { return }
        let expected = try await Made.archive(content)
        expectNone(
            await violations(of: DecompressedSource(MemorySource(bytes), format: format), expecting: expected))
        expectNone(
            await violations(
                of: DecompressedSource(FaultSource(MemorySource(bytes), .oneByte), format: format), expecting: expected)
        )
    }

    @Test func archivesThatComeByteByByteKeepEveryContract() async throws {
        let bytes = try await Made.archive("small.tar")
        let expected = Data("first member".utf8)
        let slow = { @Sendable in FaultSource(MemorySource(bytes), .oneByte) }
        expectNone(
            await violations(
                of: try ArchiveContainer(slow(), format: .tar).member(.index(0), context: BlobContext()),
                expecting: expected))
        expectNone(
            await violations(
                of: try ArchiveContainer(pipeSource(bytes), format: .tar)
                    .member(.name("one"), context: BlobContext()), expecting: expected))
        let zipped = try await Made.archive("small.zip")
        expectNone(
            await violations(
                of: try ArchiveContainer(pipeSource(zipped), format: .zip)
                    .member(.name("one"), context: BlobContext()), expecting: expected))
    }
}
