import BlobStreams
import BlobStreamsTesting
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Members and filters over a base that never blocks, one that blocks, and one that is not open yet and says `notYet`
/// in between.
@Suite struct ArchiveBaseTests {
    enum Kind: CaseIterable, Sendable {
        case neverBlocks, blocks, saysNotYet, saysNotYetWithoutRandomAccess, isReadAhead

        @Sendable func source(_ bytes: Data) -> any BlobInputStreamDataSource {
            let memory = MemorySource(bytes)
            return switch self {
            case .neverBlocks: memory
            case .blocks: FaultSource(memory, .half)
            case .saysNotYet: DripSource(memory, pieceByteCount: 700)
            case .saysNotYetWithoutRandomAccess: DripSource(SequentialSource(bytes), pieceByteCount: 20_000)
            case .isReadAhead: ReadAheadSource(FaultSource(memory, .half))
            }
        }
    }

    @Test(arguments: [("small.tar", ArchiveFormat.tar), ("small.zip", .zip)], Kind.allCases)
    func membersKeepEveryContractOverEveryKindOfBase(_ archive: (file: String, format: ArchiveFormat), _ kind: Kind)
        async throws
    {
        let bytes = try await Made.archive(archive.file)
        expectNone(
            await violations(
                of: try ArchiveContainer(kind.source(bytes), format: archive.format)
                    .member(.name("one"), context: BlobContext()), expecting: Data("first member".utf8)))
    }

    @Test(arguments: Kind.allCases)
    func foreignMembersKeepEveryContractOverEveryKindOfBase(_ kind: Kind) async throws {
        let cpio = try await Made.archive("links.cpio")
        expectNone(
            await violations(
                of: try ArchiveContainer(kind.source(cpio), format: .cpio)
                    .member(.name("plain"), context: BlobContext()), expecting: Data("plain bytes".utf8)))
        let ar = try await Made.archive("a.ar")
        expectNone(
            await violations(
                of: try ArchiveContainer(kind.source(ar), format: .ar).member(.name("two"), context: BlobContext()),
                expecting: Data("even".utf8)))
        guard let sevenZip = try await Made.optional("a.7z") else { return }
        let expected = try await Made.archive("stream")
        expectNone(
            await violations(
                of: try ArchiveContainer(kind.source(sevenZip), format: .sevenzip)
                    .member(.name("stream"), context: BlobContext()), expecting: expected))
    }

    @Test(arguments: CompressionFormat.allCases, Kind.allCases)
    func filtersKeepEveryContractOverEveryKindOfBase(_ format: CompressionFormat, _ kind: Kind) async throws {
        let suffix = format.fileExtensions[0].suffix
        guard let bytes = try await Made.optional("none.\(suffix == "z" ? "Z" : suffix)") else { return }
        let expected = try await Made.archive("none")
        expectNone(
            await violations(of: DecompressedSource(kind.source(bytes), format: format), expecting: expected))
    }

    @Test(arguments: Kind.allCases)
    func theTemporaryCopyKeepsEveryContractOverEveryKindOfBase(_ kind: Kind) async {
        let bytes = Made.long
        expectNone(
            await violations(of: SpooledSource(kind.source(bytes)), expecting: bytes))
    }

    @Test func membersInGzipOverABaseThatIsNotOpenYetKeepEveryContract() async throws {
        let bytes = try await Made.archive("a.tar.gz")
        let gzipped: @Sendable () -> any BlobInputStreamDataSource = {
            GzipSource(DripSource(MemorySource(bytes), pieceByteCount: 1000), format: .gzip)
        }
        expectNone(
            await violations(
                of: try ArchiveContainer(gzipped(), format: .tar).member(.name("d/a.txt"), context: BlobContext()),
                expecting: Data("hello".utf8)))
        expectNone(
            await violations(
                of: try ArchiveContainer(
                    ArchiveContainer(gzipped(), format: .tar).member(.name("in.zip"), context: BlobContext()),
                    format: .zip
                ).member(.name("big"), context: BlobContext()), expecting: Made.big))
    }
}
