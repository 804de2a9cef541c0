import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// What several reads of one 7z cost, and the members that are found without libarchive.
@Suite struct SevenZipFolderReuseTests {
    private static func solid() throws -> CountedSource {
        CountedSource(MemorySource(try Fixture.bytes("solid.7z")))
    }

    private static func read(_ archive: BlobArchive, _ name: String) throws -> Data {
        try archive.source(.name(Array(name.utf8))).data(upTo: 1 << 20)
    }

    @Test func ascendingMembersOfASolidFolderAreDecodedOnce() async throws {
        try await onThread { () throws in
            let base = try Self.solid()
            let archive = BlobArchive(base, format: .sevenzip)
            let names = try archive.members().map(\.printableName)
            #expect(try Self.read(archive, names[0]) == EncryptedSevenZipTests.content(names[0]))
            // One buffer holds all of the archive, so a decoder that goes on needs no more of it.
            let openings = base.openings
            for name in names.dropFirst() {
                #expect(try Self.read(archive, name) == EncryptedSevenZipTests.content(name))
            }
            #expect(base.openings == openings)
            #expect(try Self.read(archive, names[0]) == EncryptedSevenZipTests.content(names[0]))
            #expect(base.openings > openings)
        }
    }

    @Test func membersInAnyOrderAreReadInTheOrderOfTheFolder() async throws {
        try await onThread { () throws in
            let base = try Self.solid()
            let archive = BlobArchive(base, format: .sevenzip)
            let names = try archive.members().map(\.printableName)
            _ = try Self.read(archive, names[names.count - 1])
            let openings = base.openings
            var order: [Int] = []
            let selectors = names.reversed().map { BlobLocator.Selector.name(Array($0.utf8)) }
            try archive.forEachSource(of: selectors + [.index(0)]) { (position, source) throws in
                order.append(position)
                let name = position < names.count ? names[names.count - 1 - position] : names[0]
                #expect(try source.data(upTo: 1 << 20) == EncryptedSevenZipTests.content(name))
            }
            #expect(order == [3, 4, 2, 1, 0])
            // The first member is read twice, each time by a decoder of its own.
            let two = base.openings - openings
            _ = try Self.read(archive, names[0])
            #expect(two == 2 * (base.openings - openings - two))
        }
    }

    @Test func anOffsetBehindTheLastOneIsReachedFromThere() async throws {
        try await onThread { () throws in
            let base = try Self.solid()
            let numbers = try BlobArchive(base, format: .sevenzip).source(.name(Array("numbers".utf8)))
            let expected = EncryptedSevenZipTests.numbers
            func part(_ byteOffset: Int64) throws -> Data {
                let reader = try numbers.open(at: byteOffset, context: BlobContext())
                defer { reader.close() }
                var bytes = [UInt8](repeating: 0, count: 10)
                let count = try bytes.withUnsafeMutableBytes { try reader.readBlocking(into: $0) }
                return Data(bytes[..<count])
            }
            for byteOffset in [0, 9, 70_000, 150_000, 168_890, 5] as [Int64] {
                let found = try part(byteOffset)
                #expect(!found.isEmpty && found == expected.dropFirst(Int(byteOffset)).prefix(found.count))
            }
        }
    }

    @Test func aDecoderThatIsKeptHoldsNoBaseOpen() async throws {
        try await onThread { () throws in
            let bytes = try Fixture.bytes("solid.7z")
            let source = ObservedSource(MemorySource(bytes))
            let archive = BlobArchive(source, format: .sevenzip)
            #expect(try Self.read(archive, "a.txt") == EncryptedSevenZipTests.first)
            #expect(source.openCount == 0)
            #expect(try Self.read(archive, "numbers") == EncryptedSevenZipTests.numbers)
            #expect(source.openCount == 0)
        }
    }

    @Test func aCancelledJobDoesNotCancelTheNextOne() async throws {
        try await onThread { () throws in
            let base = try Self.solid()
            let archive = BlobArchive(base, format: .sevenzip)
            let first = BlobContext()
            let names = try archive.members().map(\.printableName)
            let source = try archive.source(.name(Array(names[0].utf8)), first)
            let reader = try source.open(context: first)
            #expect(try Data(readingAtMost: 1, from: reader).count == 1)
            reader.close()
            first.cancellation.cancel()
            let openings = base.openings
            // Behind what the first job has read, so that its decoder serves; and again, as it was kept.
            for name in names.dropFirst() {
                #expect(try Self.read(archive, name) == EncryptedSevenZipTests.content(name))
            }
            #expect(base.openings == openings)
        }
    }

    @Test func theHeaderIsReadOnceForManyLookUps() async throws {
        guard let bytes = try await Made.optional("folders-lzma.7z") else { return }
        try await onThread { () throws in
            let base = CountedSource(MemorySource(bytes))
            let archive = BlobArchive(base, format: .sevenzip)
            let members = try archive.members().filter { $0.kind == .file && $0.byteCount ?? 0 > 0 }
            let openings = base.openings
            for member in members { _ = try archive.source(.name(member.name)).info(BlobContext()) }
            #expect(base.openings == openings)
        }
    }

    /// What the header says must be what libarchive says.
    @Test(arguments: [
        "a.7z", "solid.7z", "links.7z", "twenty.7z", "folders-lzma.7z", "folders-copy.7z", "folders-solid.7z",
        "folders-bcj2.7z", "plain.7z", "encoded.7z", "encoded2.7z", "secret.7z",
    ])
    func membersAreThoseOfLibarchive(file: String) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        try await onThread { () throws in
            let (source, context) = (MemorySource(bytes), BlobContext())
            #expect(try SevenZipHeader.check(source, context)?.members != nil)
            var members: [BlobMember] = []
            let walker = try SevenZipWalker(over: source, context)
            while let entry = try walker.next() { members.append(entry.member) }
            #expect(try BlobArchive(source, format: .sevenzip).members() == members)
        }
    }

    /// A search of all members for each name would take minutes.
    @Test(.timeLimit(.minutes(1))) func eachOfManyNamesIsFound() throws {
        let count = 20_000
        // Folders with and without a slash, and names that occur twice.
        let names = (0..<count).map { index in
            index % 100 > 0 ? "name \(index / 2)" : index % 200 > 0 ? "folder\(index / 200)/" : "folder\(index / 200)"
        }
        let units: [UInt16] = names.flatMap { Array($0.utf16) + [0] }
        let members = try #require(
            SevenZipMembers(
                names: units.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] },
                attributes: [UInt32](repeating: 0, count: count), times: [UInt64?](repeating: nil, count: count),
                hasBytes: (0..<count).map { $0 % 100 != 0 }, areEmptyFiles: nil))
        for index in 0..<count {
            let name = members.member(index, byteCount: 1, isEncrypted: false).name
            let expected =
                switch index % 200 {
                case 0: [index, index + 100]
                case 100: [index - 100, index]
                case 1, 101: [index]
                default: [index / 2 * 2, index / 2 * 2 + 1]
                }
            guard members.indices(named: name) == expected else {
                Issue.record("\(names[index]): \(members.indices(named: name)), not \(expected)")
                break
            }
        }
        for name in ["folder0", "name 1000000", "", "/", "name 1/"] {
            #expect(members.indices(named: Array(name.utf8)).isEmpty, "\(name)")
        }
    }

    @Test func aNameWithAMarkIsLeftToLibarchive() throws {
        func members(_ names: String...) -> SevenZipMembers? {
            let units: [UInt16] = names.flatMap { Array($0.utf16) + [0] }
            return SevenZipMembers(
                names: units.flatMap { [UInt8(truncatingIfNeeded: $0), UInt8($0 >> 8)] },
                attributes: [0x10, 0x8000_0000 | 0o100644 << 16, 1], times: [nil, 0, .max],
                hasBytes: [false, true, true], areEmptyFiles: nil)
        }
        let plain = try #require(members("folder", "é", "日本語.txt"))
        #expect(plain.hasPlainNames)
        #expect(plain.indices(named: Array("folder/".utf8)) == [0])
        #expect(plain.indices(named: Array("folder".utf8)).isEmpty)
        #expect(plain.indices(named: Array("日本語.txt".utf8)) == [2])
        #expect(plain.member(0, byteCount: 0, isEncrypted: false).printableName == "folder/")
        #expect(plain.member(1, byteCount: 5, isEncrypted: false).modificationTime == Date(timeIntervalSince1970: 0))
        #expect(plain.member(2, byteCount: 5, isEncrypted: false).permissions == 0o444)
        #expect(members("a", "e\u{301}", "b")?.hasPlainNames == false)
        #expect(members("a", "b") == nil)
        #expect(members("a", "b", "c", "d") == nil)
    }
}

/// A layer that counts its open readers.
private final class ObservedSource: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    private let count = Locked(0)

    init(_ base: any BlobInputStreamDataSource) { self.underlying = base }

    var openCount: Int { self.count.withLock { $0 } }
    var traits: BlobTraits { self.underlying.traits }
    var locator: BlobLocator? { nil }
    func describe(_ context: BlobContext) throws -> BlobInfo { try self.underlying.info(context) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(
            try self.underlying.open(opening), OpenReader(count: self.count), startingAt: opening.byteOffset)
    }

    /// Is released when the reader is closed.
    private final class OpenReader: BlobInspector {
        private let count: Locked<Int>

        init(count: Locked<Int>) {
            self.count = count
            count.withLock { $0 += 1 }
        }

        deinit { self.count.withLock { $0 -= 1 } }

        func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) -> Range<Int> { 0..<bytes.byteCount }
    }
}
