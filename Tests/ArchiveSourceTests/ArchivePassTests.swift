import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// Several members of an archive that is read from beginning to end: how many passes they cost, and what is checked.
@Suite struct ArchivePassTests {
    private static func selectors(_ names: String...) -> [BlobLocator.Selector] {
        names.map { .name($0) }
    }

    /// Reads members in one call; returns them by position, and in the order in which they were read.
    private static func readAll(
        _ selectors: [BlobLocator.Selector], of archive: BlobArchive
    ) throws -> (members: [Int: Data], order: [Int]) {
        var (members, order): ([Int: Data], [Int]) = ([:], [])
        try archive.forEachSource(of: selectors) { position, source in
            order.append(position)
            members[position] = try source.data(upTo: 1 << 20)
        }
        return (members, order)
    }

    private static func sequential(_ file: String) async throws -> CountedSource {
        CountedSource(MemorySource(try await Made.archive(file)), hasRandomAccess: false)
    }

    @Test(arguments: [("a.tar", ArchiveFormat.tar), ("links.cpio", .cpio)])
    func membersInTheOrderOfTheArchiveCostOnePass(file: String, format: ArchiveFormat) async throws {
        let base = try await Self.sequential(file)
        try await onThread {
            let whole = BlobArchive(MemorySource(try base.underlying.data(upTo: 1 << 24)), format: format)
            let selectors = try whole.members().filter { member in
                member.kind == .file && member.byteCount ?? 0 > 0
                    && (try? whole.source(.index(member.index)).data(upTo: 1 << 20)) != nil
            }.map { BlobLocator.Selector.index($0.index) }
            let expected = try selectors.map { try whole.source($0).data(upTo: 1 << 20) }
            let (members, order) = try Self.readAll(selectors, of: BlobArchive(base, format: format))
            #expect(order == Array(selectors.indices))
            #expect(selectors.indices.map { members[$0] } == expected)
            #expect(base.openings == 1)
        }
    }

    @Test func membersInAnyOrderCostOnePass() async throws {
        let base = try await Self.sequential("a.tar")
        try await onThread {
            let archive = BlobArchive(base, format: .tar)
            let selectors = Self.selectors("last", "in.zip", "empty", "d/a.txt")
            let (members, order) = try Self.readAll(selectors, of: archive)
            #expect(order == [3, 2, 1, 0])
            #expect(members[0] == Data("the last".utf8) && members[3] == Data("hello".utf8))
            #expect(base.openings == 1)
            #expect(try Self.readAll(selectors, of: archive).order == [3, 2, 1, 0])
            #expect(base.openings == 2)
        }
    }

    /// Blocks can be reached at any place, but each costs its decoding.
    @Test func membersOfATarInBlocksOfXzAreDecodedOnce() async throws {
        let folder = try TemporaryFolder()
        var numbers = SplitMix64(seed: 4)
        for name in 0..<20 {
            try folder.write((0..<50_000).map { _ in UInt8.random(in: 0...255, using: &numbers) }, to: "\(name)")
        }
        try folder.run("tar", ["-cf", "x.tar"] + (0..<20).map(String.init))
        try folder.run("xz", "--block-size=100000", "x.tar")
        let compressed = CountedSource(FileSource(path: folder.url("x.tar.xz").path))
        let names = [13, 2, 19, 7, 0, 11]
        try await onThread { () throws in
            let archive = BlobArchive(DecompressedSource(compressed, format: .xz), format: .tar)
            let (members, order) = try Self.readAll(names.map { .name("\($0)") }, of: archive)
            #expect(order == [4, 1, 3, 5, 0, 2])
            for (position, name) in names.enumerated() {
                #expect(try members[position] == Data(contentsOf: folder.url("\(name)")))
            }
        }
        #expect(compressed.byteCount < 1_300_000)
    }

    /// The second search once made a listing of its own before it read.
    @Test func theFirstMemberThatIsReadLeavesTheTable() async throws {
        let base = try await Self.sequential("a.tar")
        try await onThread { () throws in
            let archive = BlobArchive(base, format: .tar)
            for _ in 0..<3 { #expect(try archive.source(.name("last")).data(upTo: 100) == Data("the last".utf8)) }
            #expect(base.openings == 3)
            let byteCount = base.byteCount
            #expect(try archive.member(.name("last")).index == 14)
            #expect(base.byteCount == byteCount)
            #expect(codeThrown { try archive.source(.name("twice")).data(upTo: 100) } == .ambiguousMember)
        }
    }

    @Test func aNameThatALaterMemberHasIsAmbiguousAtTheEndOfThePass() async throws {
        let base = try await Self.sequential("a.tar")
        try await onThread {
            #expect(
                codeThrown {
                    try Self.readAll(Self.selectors("d/a.txt", "twice"), of: BlobArchive(base, format: .tar))
                } == .ambiguousMember)
        }
    }

    @Test func aMemberThatIsMissingOrHasNoBytesLeavesTheOthersReadable() async throws {
        let base = try await Self.sequential("a.tar")
        try await onThread {
            let archive = BlobArchive(base, format: .tar)
            var codes: [BlobError.Code?] = []
            let selectors = Self.selectors("d/a.txt", "dir/", "hard", "nope", "in.zip", "last")
            try archive.forEachSource(of: selectors) { _, source in
                codes.append(codeThrown { try source.data(upTo: 1 << 20) })
            }
            #expect(codes == [nil, .unsupported, nil, nil, nil, .notFound])
        }
    }

    /// A member that was not read to its end is passed over.
    @Test func aMemberThatIsReadInPartIsPassedOver() async throws {
        let base = try await Self.sequential("a.tar")
        try await onThread {
            let selectors: [BlobLocator.Selector] = [.index(1), .name("last")]
            try BlobArchive(base, format: .tar).forEachSource(of: selectors) { position, source in
                let reader = try source.open()
                defer { reader.close() }
                let bytes = try read(reader, upTo: 8)
                #expect(position == 0 ? bytes == Array(Made.long.prefix(8)) : bytes == Array("the last".utf8))
            }
            #expect(base.openings == 1)
        }
    }

    /// The bytes of the members are right, and the checksum of the gzip around them is not.
    @Test func damageAtTheEndOfTheArchiveIsThrownForAllMembers() async throws {
        var bytes = try await Made.archive("a.tar.gz")
        bytes[bytes.count - 5] ^= 1
        let damaged = bytes
        try await onThread {
            let archive = BlobArchive(GzipSource(MemorySource(damaged)), format: .tar)
            var members: [Data] = []
            #expect(
                codeThrown {
                    try archive.forEachSource(of: Self.selectors("d/a.txt", "empty")) { _, source in
                        members.append(try source.data(upTo: 100))
                    }
                } == .checksumMismatch)
            #expect(members == [Data("hello".utf8), Data()])
        }
    }

    @Test func aMemberThatIsCancelledLeavesTheOthersReadable() async throws {
        let bytes = try await Made.archive("a.tar.gz")
        try await onThread {
            let archive = BlobArchive(GzipSource(MemorySource(bytes)), format: .tar)
            var codes: [BlobError.Code?] = []
            try archive.forEachSource(of: Self.selectors("d/a.txt", "in.zip", "last")) { position, source in
                let context = BlobContext()
                if position == 1 { context.cancellation.cancel() }
                codes.append(codeThrown { try source.data(upTo: 1 << 20, context: context) })
            }
            #expect(codes == [nil, .cancelled, nil])
        }
    }
}
