import BlobStreams
import BlobStreamsTesting
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

    @Test func everyMemberOfASolidArchiveComesOutRight() async throws {
        guard let bytes = try await Made.optional("twenty.7z") else { return }
        let archive = ArchiveContainer(MemorySource(bytes), format: .sevenzip)
        for member in try await archive.members() {
            let name = String(decoding: member.name, as: UTF8.self)
            let expected = try await Made.archive("twenty/" + name)
            let isEqual = try await archive.data(name) == expected
            #expect(isEqual, "\(name)")
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
