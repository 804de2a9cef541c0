import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Archives after archives, and other data before and after them.
@Suite struct FollowingDataTests {
    /// Returns the printable names of the members, and the code of the error after them.
    private func list(
        _ source: any BlobInputStreamDataSource, _ format: ArchiveFormat
    ) async throws -> (names: [String], code: BlobError.Code?) {
        try await onThread {
            let (members, error) = ArchiveContainer(source, format: format).listing()
            return (members.map(\.printableName), error?.code)
        }
    }

    /// With random access, and from beginning to end.
    private static func sources(_ bytes: Data) -> [any BlobInputStreamDataSource] {
        let fast: [any BlobInputStreamDataSource] = [MemorySource(bytes), SequentialSource(bytes)]
        return bytes.count < 20_000 ? fast + [OneByteSource(bytes: bytes)] : fast
    }

    static let early = [".", "kernel", "kernel/x86", "kernel/x86/microcode", "kernel/x86/microcode/GenuineIntel.bin"]

    @Test(arguments: ["two.cpio", "initramfs.img"])
    func theArchivesOfAnInitramfsAreReadOneAfterAnother(_ file: String) async throws {
        let bytes = try Fixture.bytes(file)
        for source in Self.sources(bytes) {
            let (names, code) = try await self.list(source, .cpio)
            #expect(code == nil)
            #expect(Array(names.prefix(5)) == Self.early)
            #expect(names.count > 5)
            let archive = ArchiveContainer(source, format: .cpio)
            let members = try await archive.members()
            #expect(members.map(\.index) == Array(members.indices))
            let last = try #require(members.last { $0.kind == .file })
            let data = try await archive.data(.index(last.index))
            #expect(Int64(data.count) == last.byteCount)
            #expect(try await archive.data(.name(last.name)) == data)
            // With a table of the members, too.
            for _ in 0..<20 { #expect(try await archive.data(.name(last.name)) == data) }
        }
    }

    @Test(arguments: ["", "zeros", "gz", "bz2", "xz", "lzma"])
    func partsOfAnInitramfsAreOfAnyFormOfCpio(_ between: String) async throws {
        let first = try await Made.archive("links.cpio")
        let second = try await Made.archive("sums.cpio")
        let rest: Data =
            switch between {
            case "": second
            case "zeros": Data(count: 300_000) + second
            default: Data(count: 3) + (try await Made.archive("sums.cpio.\(between)"))
            }
        for source in Self.sources(first + rest + Data(count: 512)) {
            let archive = ArchiveContainer(source, format: .cpio)
            let names = try await archive.members().map(\.printableName)
            let long = String(repeating: "n", count: 5000)
            #expect(
                names == ["first", "second", "none", "plain", "right", "wrong", "first", "second", long, "last"])
            #expect(try await archive.data("plain") == Data("plain bytes".utf8))
            #expect(try await archive.data("right") == Made.data(300_000))
            #expect(try await archive.data(.index(0)) == Data("both".utf8))
            #expect(try await archive.code("wrong") == .checksumMismatch)
            #expect(try await archive.code("first") == .ambiguousMember)
            #expect(try await archive.code("nope") == .notFound)
        }
    }

    @Test func aDamagedCompressedPartOfAnInitramfsIsFound() async throws {
        var bytes = try Fixture.bytes("initramfs.img")
        let start = try #require(bytes.range(of: Data([0x1F, 0x8B, 8]))).lowerBound
        for count in [start + 1, start + 9, start + 30, bytes.count - 1, bytes.count - 5] {
            let (names, code) = try await self.list(MemorySource(bytes.prefix(count)), .cpio)
            #expect(names.prefix(5) == Self.early[...])
            #expect(code != nil)
        }
        bytes[bytes.count - 6] ^= 1  // The checksum of the gzip.
        let archive = ArchiveContainer(MemorySource(bytes), format: .cpio)
        for source in Self.sources(bytes) {
            #expect(try await self.list(source, .cpio).code == .checksumMismatch)
        }
        // A part in a filter is read to the end of that.
        #expect(try await archive.code(.index(7)) == .checksumMismatch)
    }

    @Test(arguments: [
        ("small.tar", ArchiveFormat.tar), ("links.cpio", .cpio), ("a.ar", .ar), ("small.7z", .sevenzip),
        ("stored.rar", .rar), ("version4.rar", .rar),
    ])
    func whatFollowsAnArchiveIsAnErrorAfterItsMembers(_ file: String, _ format: ArchiveFormat) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        let expected = try await self.list(MemorySource(bytes), format)
        #expect(expected.code == nil && !expected.names.isEmpty)
        let junk = Data("something else".utf8)
        var rests = [bytes, Data(count: 512 * 7) + bytes, junk, Data(count: 70_000) + junk, Data([7])]
        // A cpio is read on, and many a tar is followed by other data.
        if format == .cpio { rests.removeFirst(2) }
        if format == .tar { rests.removeLast(3) }
        for rest in rests {
            for source in Self.sources(bytes + rest) {
                let (names, code) = try await self.list(source, format)
                // The next header of an ar has 60 bytes.
                #expect(code == (format == .ar && rest.count >= 60 ? .corrupted : .trailingData), "\(rest.count)")
                #expect(names == expected.names, "\(rest.count)")
            }
        }
        for count in [1, 59, 600, 300_000] where format != .ar || count < 60 {
            for source in Self.sources(bytes + Data(count: count)) {
                let (names, code) = try await self.list(source, format)
                #expect(names == expected.names && code == nil, "\(count) zeros")
            }
        }
    }

    /// Some writers leave what was in their buffer; others append lines of their own.
    @Test func aTarMayBeFollowedByOtherDataAndOldHeaders() async throws {
        let bytes = try await Made.archive("small.tar")
        let last = try #require(bytes.lastIndex { $0 != 0 })
        let end = (last / 512 + 1) * 512
        for junk in [Data("something else".utf8), Data(repeating: 1, count: 512), Data(count: 300) + bytes] {
            for source in Self.sources(bytes + junk) {
                let (names, code) = try await self.list(source, .tar)
                #expect(names == ["one", "two"] && code == nil, "\(junk.count)")
            }
        }
        // The same within the last record, and where that is not the last one.
        var old = bytes.prefix(10_240)
        try #require(old.count == 10_240 && end + 1536 <= old.count)
        old.replaceSubrange((end + 1024)..<(end + 1536), with: bytes.prefix(512))
        for source in Self.sources(old) { #expect(try await self.list(source, .tar).code == nil) }
        for source in Self.sources(old + Data(count: 1)) + Self.sources(old.prefix(end + 1536)) {
            #expect(try await self.list(source, .tar).code == .trailingData)
        }
    }

    @Test func anLHAEndsAtItsMark() async throws {
        let bytes = try Fixture.bytes("utf16.lzh")
        for source in Self.sources(bytes + bytes) {
            let (names, code) = try await self.list(source, .lha)
            #expect(names.count == 2 && code == .trailingData)
        }
        // Members that are appended without a mark are the archive's.
        for source in Self.sources(bytes.dropLast() + bytes) {
            let (names, code) = try await self.list(source, .lha)
            #expect(names.count == 4 && code == nil)
        }
    }

    @Test func aMemberBeforeOtherDataIsReadWithRandomAccess() async throws {
        let bytes = try await Made.archive("small.tar")
        let archive = tar(bytes + bytes)
        #expect(try await archive.data("one") == Data("first member".utf8))
        #expect(try await archive.code("three") == .trailingData)
        // From beginning to end, the end is read, too.
        let sequential = ArchiveContainer(SequentialSource(bytes + bytes), format: .tar)
        #expect(try await sequential.code("one") == .trailingData)
    }

    /// With random access, a member is read alone. From beginning to end, the end of the archive counts where only that
    /// protects the bytes of members.
    @Test(arguments: [
        ("a.ar", ArchiveFormat.ar), ("links.cpio", .cpio), ("small.7z", .sevenzip), ("several.rar", .rar),
    ])
    func aMemberIsPromisedAndNotWhatFollowsItsArchive(_ file: String, _ format: ArchiveFormat) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        let members = try await ArchiveContainer(MemorySource(bytes), format: format).members()
        let index = try #require(members.first { $0.kind == .file }).index
        let expected = try await ArchiveContainer(MemorySource(bytes), format: format).data(.index(index))
        let junk = Data("something else".utf8)
        for rest in [junk, Data(count: 70_000) + junk] {
            let archive = ArchiveContainer(MemorySource(bytes + rest), format: format)
            #expect(try await archive.data(.index(index)) == expected)
            #expect(try await self.list(MemorySource(bytes + rest), format).code != nil)
            let sequential = ArchiveContainer(SequentialSource(bytes + rest), format: format)
            // A 7z is copied, and then has random access.
            #expect(try await (sequential.code(.index(index)) == nil) == (format == .sevenzip), "\(rest.count)")
        }
    }

    @Test func ofTwoZipsTheFirstIsNotForgotten() async throws {
        let (first, second) = (try await Made.archive("a.zip"), try await Made.archive("small.zip"))
        #expect(try await self.list(MemorySource(first + second), .zip).code == .trailingData)
        #expect(try await self.list(MemorySource(first + second), .zip).names == ["one", "two"])
        // Other data before and after a zip are common.
        let junk = Data("something else".utf8)
        #expect(try await self.list(MemorySource(junk + second + junk), .zip).code == nil)
    }

    @Test func aProgramBeforeAnArchiveAndItsSignatureAfterItAreNone() async throws {
        let program = Data("MZ".utf8) + Data(repeating: 1, count: 5000)
        let signature = Data(repeating: 2, count: 3000)
        for (file, format) in [("small.zip", ArchiveFormat.zip), ("small.7z", .sevenzip), ("stored.rar", .rar)] {
            guard let bytes = try await Made.optional(file) else { continue }
            let alone = try await self.list(MemorySource(bytes), format)
            let (names, code) = try await self.list(MemorySource(program + bytes + signature), format)
            #expect(names == alone.names && code == nil, "\(file)")
        }
    }
}
