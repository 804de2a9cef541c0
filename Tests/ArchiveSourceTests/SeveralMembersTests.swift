import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Archives of several members, read in the order of the archive and in others.
@Suite struct SeveralMembersTests {
    /// Reads all files in one pass, then each on its own, the last one first, and compares.
    private func expectSameBytesInAnyOrder(_ archive: BlobArchive, count: Int, _ name: String) async throws {
        try await onThread {
            let context = BlobContext()
            var expected: [Int: Data] = [:]
            try archive.forEachSource(context) { member, source in
                guard member.kind == .file else { return }
                expected[member.index] = try source.data(upTo: 1 << 22)
                #expect(member.byteCount == nil || member.byteCount == Int64(expected[member.index]?.count ?? -1))
            }
            #expect(expected.count == count, "\(name)")
            for index in expected.keys.sorted(by: >) {
                #expect(try archive.source(.index(index)).data(upTo: 1 << 22) == expected[index], "\(name)#@\(index)")
            }
            let backward = expected.keys.sorted(by: >).map { BlobLocator.Selector.index($0) }
            try archive.forEachSource(of: backward, context) { position, source in
                let content = try source.data(upTo: 1 << 22)
                #expect(content == expected[backward[position].number], "\(name)")
            }
        }
    }

    /// Large members are read past the buffer of the archive, from 64 KiB on.
    @Test(arguments: [1000, 1 << 16, 1 << 18])
    func largeMembersOfATarAreReadWithBuffersOfEachSize(_ capacity: Int) async throws {
        let counts = [0, 1, 65_535, 65_536, 65_537, 262_144, 1, 1_000_000, 300_000]
        let folder = try TemporaryFolder()
        for (index, count) in counts.enumerated() {
            try folder.write(Array(makeContent(count + index).suffix(count)), to: "\(index)")
        }
        try folder.run("tar", ["-cf", "a.tar"] + counts.indices.map(String.init))
        let bytes = try folder.bytes("a.tar")
        try await onThread {
            let archive = BlobArchive(MemorySource(bytes), format: .tar)
            var found: [[UInt8]] = []
            try archive.forEachSource(BlobContext()) { _, source in
                let outcome = ReadingOutcome(source, inPiecesOf: capacity)
                #expect(outcome.error == nil)
                found.append(outcome.bytes)
            }
            #expect(found == counts.enumerated().map { Array(makeContent($1 + $0).suffix($1)) })
            // The last member, cut off within the bytes that are not in the buffer.
            let place = try #require(try archive.members().last).index
            let cut = BlobArchive(MemorySource(bytes.prefix(bytes.count - 100_000)), format: .tar)
            let outcome = ReadingOutcome(try cut.source(.index(place)), inPiecesOf: capacity)
            #expect(outcome.code == .truncated)
            #expect(found[place].starts(with: outcome.bytes) && outcome.bytes.count > 190_000)
        }
    }

    @Test(arguments: [ArchiveIsolation.helper, .inProcess])
    func theMembersOfAXarAreReadInAnyOrder(_ isolation: ArchiveIsolation) async throws {
        let files = ["three.xar", "reversed.xar"]
        for file in files {
            let archive = BlobArchive(
                MemorySource(try Fixture.bytes(file)), format: .xar, isolation: isolation)
            try await onThread {
                var contents: [String: Data] = [:]
                try archive.forEachSource(BlobContext()) { member, source in
                    guard member.kind == .file else { return }
                    contents[member.printableName] = try source.data(upTo: 1 << 20)
                }
                #expect(contents.count == 3, "\(file)")
                for (name, content) in contents {
                    #expect(try archive.source(.name(Array(name.utf8))).data(upTo: 1 << 20) == content)
                }
                if file == "three.xar" {
                    for number in 1...3 {
                        let content = try #require(contents["xs/f\(number).txt"])
                        #expect(content.count == number * 1000)
                        #expect(content.starts(with: Data("line \(number)\n".utf8)))
                    }
                } else {
                    #expect(contents["a"] == Data(String(repeating: "first ", count: 300).utf8))
                    #expect(contents["b"] == Data(String(repeating: "second ", count: 2000).utf8))
                    #expect(contents["c"] == Data(String(repeating: "third", count: 7).utf8))
                }
            }
        }
    }

    @Test func aXarWhoseMembersAreNotInOrderNeedsRandomAccess() async throws {
        let archive = ArchiveContainer(SequentialSource(try Fixture.bytes("reversed.xar")), format: .xar)
        #expect(try await archive.code("a") == .unsupported)
        let inOrder = ArchiveContainer(SequentialSource(try Fixture.bytes("three.xar")), format: .xar)
        #expect(try await inOrder.data("xs/f2.txt").count == 2000)
    }

    @Test(arguments: [
        ("a.tar", ArchiveFormat.tar, 9), ("odc.cpio", .cpio, 2), ("a.ar", .ar, 2), ("many.zip", .zip, 300),
        ("twenty.7z", .sevenzip, 20), ("stored.rar", .rar, 1), ("several.rar", .rar, 3), ("several.iso", .iso, 3),
        ("several.xar", .xar, 3), ("several.warc", .warc, 3), ("several.lzh", .lha, 3), ("several.cab", .cab, 3),
    ])
    func theMembersOfAnyFormatAreReadInAnyOrder(
        _ file: String, _ format: ArchiveFormat, _ count: Int
    ) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        for isolation in [ArchiveIsolation.helper, .inProcess] {
            let archive = BlobArchive(MemorySource(bytes), format: format, isolation: isolation)
            try await self.expectSameBytesInAnyOrder(archive, count: count, file)
        }
    }
}

extension BlobLocator.Selector {
    /// The index; -1 for a name.
    fileprivate var number: Int { if case .index(let index) = self { index } else { -1 } }
}
