import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// What is listed of a 7z without decoding it, and what of it is decoded.
@Suite struct SevenZipTests {
    @Test func membersOfASolidArchiveAreListedWithoutReadingThem() async throws {
        guard let bytes = try await Made.optional("twenty.7z") else { return }
        let names = (1...20).map { (number: Int) -> String in number < 10 ? "0\(number)" : "\(number)" }
        let byteCounts = (1...20).map { (number: Int) -> Int64 in Int64(10 * number + 3 + 65_536) }
        let members = try await ArchiveContainer(MemorySource(bytes), format: .sevenzip).members()
        #expect(members.map { String(decoding: $0.name, as: UTF8.self) } == names)
        #expect(members.compactMap(\.byteCount) == byteCounts)
        // The headers are at the end: without the bytes of the members they say the same.
        var damaged = bytes
        damaged.replaceSubrange(32..<1032, with: repeatElement(0xAA, count: 1000))
        let archive = ArchiveContainer(MemorySource(damaged), format: .sevenzip)
        #expect(try await archive.members() == members)
        #expect(try await archive.code("20") != nil)
    }

    @Test func anArchiveWhoseWriterWasInterruptedIsNoEmptyOne() async throws {
        let signature: [UInt8] = [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4]
        let interrupted = Data(signature + [UInt8](repeating: 0, count: 24) + [0xE0, 0, 0x41])
        await #expect(throws: BlobError.self) {
            try await ArchiveContainer(MemorySource(interrupted), format: .sevenzip).members()
        }
        // The checksum of 20 zeros.
        let empty = Data(signature + [0x8D, 0x9B, 0xD5, 0x0F] + [UInt8](repeating: 0, count: 20))
        #expect(try await ArchiveContainer(MemorySource(empty), format: .sevenzip).members().isEmpty)
    }

    @Test(arguments: [
        ("folders-lzma.7z", false), ("folders-copy.7z", false), ("folders-solid.7z", false),
        ("folders-ppmd.7z", true), ("folders-bcj2.7z", true),
    ])
    func rareCodersAreLeftToTheHelper(file: String, isRare: Bool) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        try await onThread {
            let layout = try #require(try SevenZipHeader.check(MemorySource(bytes), BlobContext()))
            #expect(layout.hasRareCoders == isRare)
        }
    }

    /// The library cannot decode the link once it skipped a multiple of 64 KiB.
    @Test func aLinkBehindWhatWasSkippedIsListedWithItsTarget() async throws {
        guard let bytes = try await Made.optional("links.7z") else { return }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        let members = try await archive.members()
        #expect(Set(members.map(\.name)) == Set(["k1", "k2", "soft"].map { Array($0.utf8) }))
        #expect(members.map(\.index) == [0, 1, 2])
        let link = members.first { $0.kind == .symbolicLink }
        #expect(link?.linkTarget == Array("k1".utf8))
        #expect(try await archive.data("k2") == Made.archive("k2"))
        #expect(try await archive.code("soft") == .unsupported)
    }
}

/// The division of a 7z into folders, of which only the one wanted is decoded.
@Suite struct SevenZipFolderTests {
    @Test(arguments: [
        ("twenty.7z", "twenty", 20), ("folders-lzma.7z", "folders", 23), ("folders-ppmd.7z", "folders", 23),
        ("folders-copy.7z", "folders", 23), ("folders-solid.7z", "folders", 23), ("folders-bcj2.7z", "folders", 23),
    ])
    func everyMemberComesOutRight(file: String, folder: String, count: Int) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        let members = try await archive.members().filter { $0.kind == .file }
        #expect(members.count == count)
        for member in members {
            let expected = try await Made.archive("\(folder)/\(String(decoding: member.name, as: UTF8.self))")
            for selector in [.name(member.name), .index(member.index)] as [BlobLocator.Selector] {
                let isEqual = try await archive.data(selector) == expected
                #expect(isEqual, "\(member.printableName)")
            }
        }
    }

    /// The folders before it are not decoded, so their damage is not seen.
    @Test func aMemberIsReadThoughTheFoldersBeforeItAreDamaged() async throws {
        guard var bytes = try await Made.optional("folders-lzma.7z") else { return }
        for index in 36..<60 { bytes[index] ^= 0x55 }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        let files = try await archive.members().filter { $0.kind == .file && $0.byteCount ?? 0 > 0 }
        #expect(try await archive.code(.index(files[0].index)) != nil)
        for member in files.dropFirst(3) {
            let name = String(decoding: member.name, as: UTF8.self)
            #expect(try await archive.data(name) == Made.archive("folders/" + name))
        }
    }

    /// The sum of a folder of one member, and those of the members of a folder.
    @Test(arguments: ["folders-copy.7z", "folders-solid.7z"])
    func damageOfTheFolderItselfIsSeen(file: String) async throws {
        guard var bytes = try await Made.optional(file) else { return }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        let count = try await archive.members().filter { $0.byteCount ?? 0 > 0 }.count
        // Stored and packed bytes of the whole archive, except its headers.
        for index in stride(from: 40, to: bytes.count - 1500, by: 300) { bytes[index] ^= 1 }
        let damaged = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        var codes: [BlobError.Code?] = []
        for member in try await archive.members() where member.byteCount ?? 0 > 400 {
            codes.append(try await damaged.code(.index(member.index)))
        }
        #expect(codes.count > 3 && codes.count <= count)
        #expect(codes.allSatisfy { [.checksumMismatch, .corrupted, .truncated].contains($0) }, "\(codes)")
    }

    /// The whole archive is read where the division is not certain.
    @Test func anArchiveWhoseDivisionIsNotCertainIsReadAsAWhole() async throws {
        let bytes = try await Made.archive("lying-times.7z")
        let plain = try await Made.archive("plain.7z")
        try await onThread {
            #expect(try SevenZipHeader.check(MemorySource(bytes), BlobContext()) == nil)
            let layout = try #require(try SevenZipHeader.check(MemorySource(plain), BlobContext()))
            #expect(layout.stream(of: 0) == 0)
            #expect(layout.stream(of: 1) == nil)
        }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        #expect(try await archive.data("m") == Data("text".utf8))
    }

    @Test func numbersAreWrittenAsTheyAreRead() throws {
        let edges = (0..<64).flatMap { [UInt64(1) << $0, (UInt64(1) << $0) - 1, (UInt64(1) << $0) + 1] } + [.max]
        var writer = SevenZipHeaderWriter()
        writer.append(edges)
        var parts = [writer.bytes, []]
        var bytes = SevenZipHeader.Bytes { parts.removeFirst() }
        for edge in edges { #expect(try bytes.readNumber() == edge) }
        var short = SevenZipHeaderWriter()
        short.append([127, 128, 16_383, 16_384])
        #expect(short.bytes == [127, 0x80, 128, 0xBF, 0xFF, 0xC0, 0, 0x40])
    }
}
