import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Which bytes a selector means, and which it refuses.
@Suite struct MemberTests {
    @Test(arguments: ["a.tar", "gnu.tar"])
    func aMemberIsFoundByNameAndByIndex(file: String) async throws {
        let archive = tar(try await Made.archive(file))
        let long = "long/" + String(repeating: "n", count: 150)
        #expect(try await archive.data("d/a.txt") == Data("hello".utf8))
        #expect(try await archive.data(.index(0)) == Data("hello".utf8))
        #expect(try await archive.data(long) == Made.long)
        #expect(try await archive.data("odd %!#@\né") == Data("odd".utf8))
        #expect(try await archive.data("@5") == Data("at".utf8))
        #expect(try await archive.data("empty") == Data())
        #expect(try await archive.data("last") == Data("the last".utf8))
        #expect(try await archive.code("nope") == .notFound)
        #expect(try await archive.code("d/a") == .notFound)
        #expect(try await archive.code(.index(15)) == .notFound)
    }

    /// Whether the bytes of a link follow it depends on headers that a jump to it does not read.
    @Test(arguments: [("declared-link.tar", 3), ("header-in-link.tar", 512)])
    func aHardLinkHasTheSameBytesHoweverItIsFound(file: String, byteCount: Int) async throws {
        let bytes = try await Made.archive(file)
        let folder = try TemporaryFolder()
        let base = MemorySource(bytes, validator: .strong("1"))
        let indexed = ArchiveContainer(base, format: .tar, index: .file(folder.path("index")))
        #expect(try await onThread { try indexed.buildIndex(BlobContext()) })
        let expected = byteCount == 3 ? Data("one".utf8) : bytes.dropFirst(2560).prefix(512)
        for archive in [tar(bytes), indexed, ArchiveContainer(SequentialSource(bytes), format: .tar)] {
            #expect(try await archive.members().map(\.name) == ["one", "link", "two"].map { Array($0.utf8) })
            #expect(try await archive.data("link") == expected)
            #expect(try await archive.data(.index(1)) == expected)
            #expect(try await archive.data("two") == Data("two".utf8))
        }
    }

    @Test func whatIsNoTimeIsNotTakenForOne() async throws {
        let members = try await tar(Made.archive("times.tar")).members()
        #expect(members.map { $0.modificationTime?.timeIntervalSince1970 } == [0, 0, 0, 0, 1.5, nil])
    }

    @Test func aBlockAtAnImpossiblePlaceIsAnError() async throws {
        for byteOffset in [Int64.min, -1, .max] {
            let walker = OneBlockWalker(byteOffset: byteOffset)
            let found = MemberSearch.FoundEntry(
                walker: walker, entry: walker.entry, member: walker.entry.member, uniqueName: nil, checksum: nil,
                lease: nil)
            let stream = MemberStream(found, info: BlobInfo(), format: .cpio)
            var bytes = [UInt8](repeating: 0, count: 10)
            let code = codeThrown {
                try bytes.withUnsafeMutableBytes { buffer in
                    var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                    _ = try stream.read(at: 0, into: &output)
                }
            }
            #expect(code == .corrupted, "\(byteOffset)")
        }
    }

    @Test func aNameThatSeveralMembersHaveIsRefused() async throws {
        let bytes = try await Made.archive("a.tar")
        #expect(try await tar(bytes).code("twice") == .ambiguousMember)
        #expect(try await tar(bytes).data(.index(2)) == Data("1".utf8))
        #expect(try await tar(bytes).data(.index(3)) == Data("22".utf8))
        #expect(try await zip(Made.archive("twice.zip")).code("same") == .ambiguousMember)
        let message = try await onThread {
            #expect(throws: BlobError.self) {
                try tar(bytes).member(.name("twice"), context: BlobContext()).data(upTo: 9)
            }?.message
        }
        #expect(message?.contains("@2") == true)
    }

    @Test func withoutRandomAccessARepeatedNameIsRefusedBeforeTheEnd() async throws {
        let bytes = try await Made.archive("a.tar")
        #expect(try await ArchiveContainer(SequentialSource(bytes), format: .tar).code("twice") == .ambiguousMember)
        #expect(try await ArchiveContainer(pipeSource(bytes), format: .tar).code("twice") == .ambiguousMember)
        #expect(try await ArchiveContainer(pipeSource(bytes), format: .tar).data("last") == Data("the last".utf8))
    }

    @Test func aHardLinkIsFollowedInsideTheArchive() async throws {
        let bytes = try await Made.archive("a.tar")
        for archive in [tar(bytes), ArchiveContainer(SequentialSource(bytes), format: .tar)] {
            #expect(try await archive.data("hard") == Data("hello".utf8))
            #expect(try await archive.data("harder") == Data("hello".utf8))
            #expect(try await archive.code("astray") == .corrupted)
        }
        #expect(try await ArchiveContainer(pipeSource(bytes), format: .tar).code("hard") == .unsupported)
    }

    @Test func theNameWithTheBytesIsFoundBehindTheOthersOfCpio() async throws {
        let bytes = try await Made.archive("links.cpio")
        for base in [MemorySource(bytes) as any BlobInputStreamDataSource, SequentialSource(bytes)] {
            let archive = ArchiveContainer(base, format: .cpio)
            for (name, content) in [("first", "both"), ("second", "both"), ("none", ""), ("plain", "plain bytes")] {
                #expect(try await archive.data(name) == Data(content.utf8), "\(name)")
            }
        }
    }

    /// libarchive passes over bytes in search of the next header: there may have been members.
    @Test func aHeaderThatIsFoundBehindAGapIsAnErrorOfTheListing() async throws {
        let damaged = try Fixture.bytes("damaged-first-header.cpio")
        let whole = try await Made.archive("links.cpio")
        let second = try #require(whole.range(of: Data("07070".utf8), in: 1..<whole.count)).lowerBound
        var gap = whole
        gap[second] = 0x58
        for bytes in [damaged, gap] {
            for base in [MemorySource(bytes) as any BlobInputStreamDataSource, SequentialSource(bytes)] {
                let archive = ArchiveContainer(base, format: .cpio)
                let error = await #expect(throws: BlobError.self) { () async throws in _ = try await archive.members() }
                #expect(error?.code == .corrupted)
            }
            #expect(try await ArchiveContainer(MemorySource(bytes), format: .cpio).code(.index(1)) == .corrupted)
        }
        // Names are certain, and so are the members before the error.
        let archive = ArchiveContainer(MemorySource(damaged), format: .cpio)
        #expect(try await archive.code("a.txt") == nil)
        let names = try await onThread { archive.listing().members.map(\.printableName) }
        #expect(names == ["empty", "a.txt", "hard"])
    }

    @Test(arguments: ["dir/", "soft", "device"])
    func whatHasNoBytesIsUnsupported(name: String) async throws {
        #expect(try await tar(Made.archive("a.tar")).code(name) == .unsupported)
    }

    @Test func theHolesOfASparseMemberAreZeros() async throws {
        let expected = Data(count: 4096) + Data(repeating: 0x53, count: 512) + Data(count: (1 << 20) - 4608)
        let archive = tar(try await Made.archive("sparse.tar"))
        #expect(try await archive.data("holes") == expected)
        #expect(try await archive.members().map(\.byteCount) == [1 << 20])
    }

    @Test(arguments: [
        ("encrypted.zip", ArchiveFormat.zip, "one"), ("secret.zip", .zip, "stream"), ("secret.7z", .sevenzip, "stream"),
    ])
    func anEncryptedMemberIsRefused(file: String, format: ArchiveFormat, name: String) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        #expect(try await ArchiveContainer(MemorySource(bytes), format: format).code(name) == .encrypted)
    }

    @Test func aZipWhoseDirectoryAndHeadersDifferIsRefused() async throws {
        let archive = zip(try await Made.archive("lying.zip"))
        #expect(try await archive.code("one") == .inconsistent)
        #expect(
            try await archive.data("two")
                == Data(String(repeating: "some text, some more text, some text ", count: 20).utf8))
    }

    @Test func aMemberOfASolidArchiveIsReadAlsoBehindWhole64KiB() async throws {
        guard let bytes = try await Made.optional("solid.7z") else { return }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        #expect(try await archive.data("stream") == Made.archive("stream"))
    }

    @Test func aNameThatIsNoUTF8IsItsBytes() async throws {
        let archive = tar(try await Made.archive("bytes.tar"))
        let name: [UInt8] = [0xFF, 0xFE] + Array(" raw".utf8)
        #expect(try await archive.data(.name(name)) == Data("no UTF-8".utf8))
        #expect(try await archive.members().map(\.printableName) == ["%FF%FE raw"])
    }

    @Test func whatIsKnownOfAMemberIsTold() async throws {
        let bytes = try await Made.archive("a.tar")
        let source = try tar(bytes).member(.name("d/a.txt"), context: BlobContext())
        let info = try await onThread { try source.info() }
        #expect(info.byteCount == 5)
        #expect(info.name == "a.txt")
        #expect(info.validator?.isStrong == true)
        #expect(source.traits == [.repeatable, .concurrentReaders])
        let other = try await onThread { try tar(bytes).member(.index(0), context: BlobContext()).info() }
        #expect(other.validator != info.validator)
        let once = try ArchiveContainer(pipeSource(bytes), format: .tar).member(.index(0), context: BlobContext())
        #expect(once.traits == [])
    }

    @Test func anArchiveIsListed() async throws {
        let members = try await tar(Made.archive("a.tar")).members()
        #expect(members.count == 15)
        #expect(members.map(\.index) == Array(0..<15))
        #expect(members[0].byteCount == 5)
        #expect(members[0].permissions == 0o640)
        #expect(members[0].modificationTime == Date(timeIntervalSince1970: 1_700_000_000))
        #expect(members.map(\.kind)[4...9] == [.directory, .hardLink, .hardLink, .hardLink, .symbolicLink, .special])
        #expect(members[5].linkTarget == Array("d/a.txt".utf8))
        #expect(members[11].printableName == "odd %25%21%23@%0Aé")
        #expect(members[12].printableName == "%405")
        #expect(try await zip(Made.archive("empty.zip")).members().isEmpty)
        #expect(try await zip(Made.archive("encrypted.zip")).members().map(\.isEncrypted) == [true, false])
    }
}

/// An archive of one member, whose one block is said to be anywhere.
private final class OneBlockWalker: MemberWalker {
    private let byteOffset: Int64
    private let block = UnsafeMutableRawBufferPointer.allocate(byteCount: 4, alignment: 1)

    init(byteOffset: Int64) { self.byteOffset = byteOffset }

    deinit { self.block.deallocate() }

    let baseInfo = BlobInfo()
    let isSequential = false
    let index = 0
    let entryOffset: Int64? = nil
    let entry = ArchiveEntry(member: BlobMember(index: 0, name: [0x61]), warning: nil, linkCount: 1)
    func advance() -> Bool { false }
    func isNamed(_ name: [UInt8]) -> Bool { name == [0x61] }
    func go(to place: Int64, index: Int) {}
    func nextBlock() -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        (UnsafeRawBufferPointer(self.block), self.byteOffset)
    }
    func finish() {}
}
