import BlobIndex
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import GzipSource
import Testing

@testable import ArchiveSource

/// The table of the members: what goes in comes out, and an archive is found through it, or without it.
@Suite struct MemberTableTests {
    @Test func whatWasTakenIsFoundByIndexAndByName() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        let records = Self.records(count: 1000, seed: seed)
        let table = try Self.table(records)
        var listed: [MemberTable.Record] = []
        try table.forEach {
            listed.append($0)
            return true
        }
        #expect(listed == records, "seed \(seed)")
        for record in records {
            let index = record.member.index
            #expect(try table.record(at: index) == record, "seed \(seed), index \(index)")
            let namesakes = records.filter { $0.member.name == record.member.name }
            #expect(try table.records(named: record.member.name) == namesakes, "seed \(seed), index \(index)")
        }
        #expect(try table.record(at: 1000) == nil)
        #expect(try table.records(named: Array("nowhere".utf8)).isEmpty)
        #expect(try Self.table([]).records(named: []).isEmpty)
    }

    @Test func namesThatManyMembersHaveAreFoundInOrder() throws {
        let records = (0..<300).map { index in
            let name = Array((index % 2 == 0 ? "a" : "b").utf8)
            return MemberTable.Record(member: BlobMember(index: index, name: name), entryOffset: 0)
        }
        let table = try Self.table(records)
        for (name, rest) in [("a", 0), ("b", 1)] {
            let found = try table.records(named: Array(name.utf8))
            #expect(found.map(\.member.index) == (0..<150).map { 2 * $0 + rest })
        }
        #expect(try table.records(named: Array("c".utf8)).isEmpty)
    }

    @Test func aMemberTakesAtMost30Bytes() throws {
        let records = (0..<100_000).map { index in
            let digits = String(1_000_000 + index).dropFirst()
            return MemberTable.Record(
                member: BlobMember(
                    index: index, name: Array("d\(digits.prefix(3))/item-\(digits).json".utf8),
                    byteCount: Int64(1024 + index * 7919 % 7168), modificationTime: Date(timeIntervalSince1970: 1.7e9),
                    permissions: 0o644,
                    checksum: BlobMember.text(ofChecksum: UInt32(truncatingIfNeeded: index &* 2_654_435_761))),
                entryOffset: Int64(index) * 5120)
        }
        #expect(try Self.table(records).bytes.count <= 30 * records.count)
    }

    @Test func aTableThatWasCutOffOrDamagedIsAnErrorAtMost() throws {
        let seed = UInt64.random(in: 0...UInt64.max)
        let records = Self.records(count: 70, seed: seed)
        let bytes = try Self.table(records).bytes
        for count in 0..<bytes.count { #expect(throws: BlobError.self) { try MemberTable(Array(bytes.prefix(count))) } }
        for bit in 0..<(8 * bytes.count) {
            let damaged = bytes.flipping(bit: bit)
            // Checksums of the index file tell; here it is only not to trap or go on for ever.
            guard let table = try? MemberTable(damaged) else { continue }
            for record in [records[0], records[69]] { _ = try? table.records(named: record.member.name) }
            _ = try? table.record(at: 69)
        }
    }

    /// An archive in a file, and where its index is to be.
    private final class Archive: Sendable {
        private let folder: TemporaryFolder
        let url: URL
        let index: BlobIndexPolicy
        let format: ArchiveFormat
        let isGzip: Bool

        init(_ file: String, _ format: ArchiveFormat) async throws {
            self.folder = try TemporaryFolder()
            self.url = self.folder.url(file)
            try await Made.archive(file).write(to: self.url)
            self.index = .file(self.folder.path("index"))
            self.format = format
            self.isGzip = file.hasSuffix(".gz")
        }

        func base() -> any BlobInputStreamDataSource {
            let file = FileSource(path: self.url.path)
            return self.isGzip ? GzipSource(file, index: self.index) : file
        }

        func open() -> ArchiveContainer {
            ArchiveContainer(self.base(), format: self.format, index: self.index)
        }

        var file: IndexFile? {
            FileSource(path: self.url.path).locator.flatMap { IndexFile(self.index, for: $0) }
        }
    }

    @Test(arguments: [("a.tar", ArchiveFormat.tar), ("a.zip", .zip), ("a.tar.gz", .tar)])
    func membersThatAreFoundThroughATableKeepEveryContract(file: String, format: ArchiveFormat) async throws {
        let archive = try await Archive(file, format)
        let name = format == .tar ? "hard" : "in/a"
        let expected = Data(format == .tar ? "hello".utf8 : "inner".utf8)
        let isBuilt = try await onThread { try archive.open().buildIndex(BlobContext()) }
        #expect(isBuilt && archive.file?.sections().contains { $0.key.kind == .members } == true)
        let source = try archive.open().member(.name(name), context: BlobContext())
        expectNone(await violations(of: source, expecting: expected))
        #expect(try await archive.open().code("nope") == .notFound)
        #expect(try await archive.open().code(.index(99)) == .notFound)
        guard format == .tar else { return }
        #expect(try await archive.open().code("twice") == .ambiguousMember)
        #expect(try await archive.open().code("dir/") == .unsupported)
        #expect(try await archive.open().code("astray") == .corrupted)
        #expect(try await archive.open().data(.index(14)) == Data("the last".utf8))
    }

    /// A link to itself stands for a disk that says no: nobody knows whether the table would be of use.
    @Test(arguments: [("a.tar", ArchiveFormat.tar), ("a.zip", .zip)])
    func aTableThatCannotBeReadIsAnError(file: String, format: ArchiveFormat) async throws {
        let archive = try await Archive(file, format)
        let path = try #require(archive.file?.path)
        try #require(symlink(path, path) == 0)
        #expect(try await archive.open().code(format == .tar ? "hard" : "in/a") == .io)
    }

    @Test func membersOfAZipInATarInAGzipThatAreFoundThroughATableKeepEveryContract() async throws {
        let archive = try await Archive("a.tar.gz", .tar)
        let inner = { @Sendable in
            let zip = try archive.open().member(.name("in.zip"), context: BlobContext())
            return ArchiveContainer(zip, format: .zip, index: archive.index)
        }
        #expect(try await onThread { try inner().buildIndex(BlobContext()) })
        #expect(try await onThread { try archive.open().buildIndex(BlobContext()) })
        let sections = archive.file?.sections() ?? []
        #expect(sections.count { $0.key.kind == .members } == 2)
        let source = try inner().member(.name("big"), context: BlobContext())
        expectNone(await violations(of: source, expecting: Made.big))
        #expect(try await inner().code("nope") == .notFound)
    }

    @Test(arguments: ["a.7z", "solid.7z"])
    func membersOfSevenZipThatAreFoundThroughATableKeepEveryContract(file: String) async throws {
        guard try await Made.optional(file) != nil else { return }
        let archive = try await Archive(file, .sevenzip)
        let listed = try await archive.open().members()
        #expect(archive.file?.sections().contains { $0.key.kind == .members } == true)
        #expect(try await archive.open().members() == listed)
        let source = try archive.open().member(.name("stream"), context: BlobContext())
        expectNone(await violations(of: source, expecting: try await Made.archive("stream")))
        #expect(try await archive.open().code("nope") == .notFound)
    }

    @Test func aListingLeavesATableBehindAndTheNextComesFromIt() async throws {
        let archive = try await Archive("a.tar.gz", .tar)
        let listed = try await archive.open().members()
        #expect(archive.file?.sections().contains { $0.key.layer == "tar+gzip" && $0.key.kind == .members } == true)
        #expect(try await archive.open().members() == listed)
        // Of other content it is not taken.
        try await Made.archive("small.tar.gz").write(to: archive.url)
        #expect(try await archive.open().members().count == 2)
        #expect(try await archive.open().data("one") == Data("first member".utf8))
    }

    @Test(arguments: [("a.tar", ArchiveFormat.tar, "last", "the last"), ("a.zip", .zip, "stored", "as it is")])
    func aTableThatDoesNotFitIsLeftAlone(
        file: String, format: ArchiveFormat, name: String, expected: String
    ) async throws {
        let archive = try await Archive(file, format)
        let byteCount = try await Int64(Made.archive(file).count)
        // Of something else, within something, behind everything.
        for place in [512, byteCount - 40, .max] {
            let found = try await onThread {
                let content = try #require(try IndexedContent.read(from: archive.base(), BlobContext()))
                let wrong = MemberTable.Record(member: BlobMember(index: 3, name: Array(name.utf8)), entryOffset: place)
                let key = IndexSection.Key(layer: format.rawValue, kind: .members)
                var builder = MemberTableBuilder()
                builder.append(wrong)
                try archive.file?.write([NewIndexSection(key, bytes: builder.finish() ?? [])], for: content)
                return try archive.open().member(.name(name), context: BlobContext()).data(upTo: 100)
            }
            #expect(found == Data(expected.utf8), "\(place)")
        }
    }

    @Test(arguments: [("a.tar", ArchiveFormat.tar, "last", "the last"), ("a.zip", .zip, "stored", "as it is")])
    func manyThreadsReadMembersOfOneArchive(
        file: String, format: ArchiveFormat, name: String, expected: String
    ) async throws {
        let archive = BlobArchive(MemorySource(try await Made.archive(file)), format: format)
        try await withThrowingTaskGroup(of: Data.self) { group in
            for _ in 0..<20 {
                group.addTask { try await onThread { try archive.source(.name(name)).data(upTo: 100) } }
            }
            for try await found in group { #expect(found == Data(expected.utf8)) }
        }
        try await onThread {
            let members = try archive.members()
            #expect(try archive.member(.name(name)) == members.first { $0.name == Array(name.utf8) })
            #expect(try archive.member(.index(1)) == members[1])
            #expect(codeThrown { try archive.member(.name("nope")) } == .notFound)
            #expect(codeThrown { try archive.members(atMost: members.count - 1) } == .limitExceeded)
        }
    }

    /// The bytes of two members of the same length were put in the place of each other, where no part of the content is
    /// compared.
    @Test func aNamedTableOfAnArchiveThatWasRewrittenIsStale() async throws {
        let folder = try TemporaryFolder()
        let path = folder.path("archive.tar")
        @Sendable func archive() -> ArchiveContainer {
            ArchiveContainer(FileSource(path: path), format: .tar, index: .file(folder.path("index")))
        }
        try Self.fixture("renamed-before.tar.gz").write(to: URL(fileURLWithPath: path))
        #expect(try await onThread { try archive().buildIndex(BlobContext()) })
        #expect(try await archive().members()[6].name == Array("a".utf8))
        let index = try Data(contentsOf: folder.url("index"))
        try Self.fixture("renamed-after.tar.gz").write(to: URL(fileURLWithPath: path))
        let plain = ArchiveContainer(FileSource(path: path), format: .tar)
        #expect(try await archive().data("l").prefix(9) == Data("this is A".utf8))
        #expect(try await archive().data("l") == plain.data("l"))
        #expect(try await archive().members() == plain.members())
        #expect(try Data(contentsOf: folder.url("index")) == index)
    }

    /// The target of a hard link is the member at its place in the table, if that has the name.
    @Test func aHardLinkThroughATableWithAnotherPlaceHasItsBytes() async throws {
        let folder = try TemporaryFolder()
        let file = FileSource(path: folder.path("archive.tar"))
        try Self.fixture("renamed-before.tar.gz").write(to: folder.url("archive.tar"))
        let index = BlobIndexPolicy.file(folder.path("index"))
        let plain = ArchiveContainer(file, format: .tar)
        let found = try await onThread {
            var builder = MemberTableBuilder()
            var places: [String: Int64] = [:]
            let walker = try TarWalker(over: file, BlobContext())
            while let entry = try walker.next() {
                places[String(decoding: entry.member.name, as: UTF8.self)] = walker.entryOffset
            }
            try plain.forEachMember(BlobContext()) { member in
                let name = String(decoding: member.name, as: UTF8.self)
                builder.append(MemberTable.Record(member: member, entryOffset: places[name == "a" ? "b" : name]))
                return true
            }
            let content = try #require(try IndexedContent.read(from: file, BlobContext()))
            let key = IndexSection.Key(layer: "tar", kind: .members)
            try IndexFile(index, for: file.locator)?
                .write([NewIndexSection(key, bytes: builder.finish() ?? [])], for: content)
            let archive = ArchiveContainer(file, format: .tar, index: index)
            return try archive.member(.name("l"), context: BlobContext()).data(upTo: 1000)
        }
        #expect(try await found == plain.data("a"))
    }

    private static func fixture(_ name: String) throws -> Data {
        try GzipSource(FileSource(path: Fixture.url(name).path)).data(upTo: 1 << 22)
    }

    private static func table(_ records: [MemberTable.Record]) throws -> MemberTable {
        var builder = MemberTableBuilder()
        for record in records { builder.append(record) }
        return try MemberTable(try #require(builder.finish()))
    }

    private static func records(count: Int, seed: UInt64) -> [MemberTable.Record] {
        var numbers = SplitMix64(seed: seed)
        return (0..<count).map { index in
            let kinds: [BlobMember.Kind] = [.file, .file, .file, .directory, .symbolicLink, .hardLink, .special]
            let name = (0..<Int.random(in: 0...12, using: &numbers)).map { _ in
                UInt8.random(in: 97...99, using: &numbers)
            }
            let time = Int64.random(in: -3_000_000_000...3_000_000_000, using: &numbers)
            let isTimed = Bool.random(using: &numbers)
            return MemberTable.Record(
                member: BlobMember(
                    index: index, name: name, kind: kinds.randomElement(using: &numbers) ?? .file,
                    byteCount: Bool.random(using: &numbers) ? Int64.random(in: 0...Int64.max, using: &numbers) : nil,
                    modificationTime: isTimed ? Date(timeIntervalSince1970: Double(time) + 0.5) : nil,
                    permissions: Bool.random(using: &numbers) ? UInt16.random(in: 0...0o7777, using: &numbers) : nil,
                    checksum: Bool.random(using: &numbers)
                        ? BlobMember.text(ofChecksum: UInt32.random(in: 0...UInt32.max, using: &numbers)) : nil,
                    linkTarget: Bool.random(using: &numbers) ? name.reversed() : nil,
                    isEncrypted: Bool.random(using: &numbers)),
                entryOffset: Bool.random(using: &numbers) ? Int64.random(in: 0...Int64.max, using: &numbers) : nil)
        }
    }
}
