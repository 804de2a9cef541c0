import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Members and filters against the conformance kit, over bases of every kind.
@Suite struct ArchiveConformanceTests {
    enum Kind: CaseIterable, Sendable {
        case neverBlocks, blocks, saysNotYet, saysNotYetWithoutRandomAccess, isReadAhead, comesByteByByte, passesByOnce

        /// Those that can be opened again, at no more cost than their bytes have.
        static let repeatable = allCases.filter { $0 != .comesByteByByte && $0 != .passesByOnce }

        @Sendable func source(_ bytes: Data) -> any BlobInputStreamDataSource {
            let memory = MemorySource(bytes)
            return switch self {
            case .neverBlocks: memory
            case .blocks: FaultSource(memory, .half)
            case .saysNotYet: DripSource(memory, pieceByteCount: 700)
            case .saysNotYetWithoutRandomAccess: DripSource(SequentialSource(bytes), pieceByteCount: 20_000)
            case .isReadAhead: ReadAheadSource(FaultSource(memory, .half))
            case .comesByteByByte: FaultSource(memory, .oneByte)
            case .passesByOnce: pipeSource(bytes)
            }
        }
    }

    private typealias Base = @Sendable () throws -> any BlobInputStreamDataSource

    private func expectContracts(
        of selector: BlobLocator.Selector, in format: ArchiveFormat, expecting bytes: Data,
        sourceLocation: SourceLocation = #_sourceLocation, over base: @escaping Base
    ) async {
        expectNone(
            await violations(
                of: try ArchiveContainer(base(), format: format).member(selector, context: BlobContext()),
                expecting: bytes), sourceLocation: sourceLocation)
    }

    @Test(arguments: [("small.tar", ArchiveFormat.tar), ("small.zip", .zip)], Kind.allCases)
    func membersKeepEveryContract(_ archive: (file: String, format: ArchiveFormat), _ kind: Kind) async throws {
        let bytes = try await Made.archive(archive.file)
        let selector = kind == .comesByteByByte ? BlobLocator.Selector.index(0) : .name("one")
        await self.expectContracts(of: selector, in: archive.format, expecting: Data("first member".utf8)) {
            kind.source(bytes)
        }
    }

    @Test(
        arguments: [
            ("links.cpio", ArchiveFormat.cpio, "plain", "plain bytes"), ("a.ar", .ar, "two", "even"),
            ("a.7z", .sevenzip, "stream", nil),
        ] as [(String, ArchiveFormat, String, String?)], Kind.repeatable)
    func foreignMembersKeepEveryContract(
        _ archive: (file: String, format: ArchiveFormat, name: String, content: String?), _ kind: Kind
    ) async throws {
        guard let bytes = try await Made.optional(archive.file) else { return }
        let stream = try await Made.archive("stream")
        await self.expectContracts(
            of: .name(archive.name), in: archive.format, expecting: archive.content.map { Data($0.utf8) } ?? stream
        ) { kind.source(bytes) }
    }

    @Test(arguments: CompressionFormat.allCases, Kind.allCases.dropLast())
    func filtersKeepEveryContract(_ format: CompressionFormat, _ kind: Kind) async throws {
        let suffix = format.fileExtensions[0].suffix
        for content in kind == .neverBlocks || kind == .comesByteByByte ? ["stream", "none"] : ["none"] {
            guard let bytes = try await Made.optional("\(content).\(suffix == "z" ? "Z" : suffix)") else { continue }
            let expected = try await Made.archive(content)
            expectNone(
                await violations(of: DecompressedSource(kind.source(bytes), format: format), expecting: expected))
        }
    }

    @Test(arguments: Kind.repeatable)
    func theTemporaryCopyKeepsEveryContract(_ kind: Kind) async {
        let bytes = Made.long
        expectNone(await violations(of: SpooledSource(kind.source(bytes)), expecting: bytes))
    }

    @Test(arguments: ["d/a.txt", "long", "empty", "hard"])
    func membersOfTarKeepEveryContract(name: String) async throws {
        let (bytes, file) = (try await Made.archive("a.tar"), try await Made.url("a.tar.gz"))
        let selector = BlobLocator.Selector.name(name == "long" ? "long/" + String(repeating: "n", count: 150) : name)
        let expected = name == "long" ? Made.long : Data(name == "empty" ? "".utf8 : "hello".utf8)
        await self.expectContracts(of: selector, in: .tar, expecting: expected) { MemorySource(bytes) }
        await self.expectContracts(of: selector, in: .tar, expecting: expected) {
            GzipSource(MemorySource(try Data(contentsOf: file)), format: .gzip)
        }
    }

    @Test(arguments: [("in/a", Data("inner".utf8)), ("big", Made.big), ("stored", Data("as it is".utf8))])
    func membersOfZipKeepEveryContract(name: String, expected: Data) async throws {
        let bytes = try await Made.archive("a.zip")
        await self.expectContracts(of: .name(name), in: .zip, expecting: expected) { MemorySource(bytes) }
        await self.expectContracts(of: .name(name), in: .zip, expecting: expected) { SequentialSource(bytes) }
    }

    @Test(arguments: [Kind.neverBlocks, .saysNotYet])
    func membersInGzipKeepEveryContract(_ kind: Kind) async throws {
        let bytes = try await Made.archive("a.tar.gz")
        let gzip: Base = { GzipSource(kind.source(bytes), format: .gzip) }
        await self.expectContracts(of: .name("d/a.txt"), in: .tar, expecting: Data("hello".utf8), over: gzip)
        await self.expectContracts(of: .name("big"), in: .zip, expecting: Made.big) {
            try ArchiveContainer(gzip(), format: .tar).member(.name("in.zip"), context: BlobContext())
        }
    }
}
