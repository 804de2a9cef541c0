import BlobIndex
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite struct IndexFileTests {
    @Test func whatIsWrittenIsFoundAgain() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        let section = NewIndexSection(.points) { sink throws(BlobError) in
            for piece in [[1, 2], [], [3]] as [[UInt8]] { try piece.withBytes(sink) }
        }
        try index.write([section], for: .sample)
        let found = try #require(try index.section(.points, for: .sample))
        #expect(try found.bytes() == [1, 2, 3])
        #expect(found.byteCount == 3)
        #expect(try found.read(at: 1, count: 2) == [2, 3])
        #expect(try index.section(.members, for: .sample) == nil)
    }

    /// It is longer than what is copied at once.
    @Test func aLongSectionIsKeptByTheNextWrite() throws {
        let folder = try TemporaryFolder()
        let payload = (0..<700_000).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let index = try folder.index()
        try index.write([NewIndexSection(.members, bytes: payload)], for: .sample)
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        #expect(try index.section(.members, for: .sample)?.bytes() == payload)
    }

    @Test func aSectionOfNoBytesIsOne() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        try index.write([NewIndexSection(.points, bytes: [])], for: .sample)
        #expect(try index.section(.points, for: .sample)?.bytes() == [])
    }

    @Test func aPartPastTheSectionIsRefused() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        try index.write(
            [NewIndexSection(.points, bytes: [1, 2, 3]), NewIndexSection(.members, bytes: [4])], for: .sample)
        let section = try #require(try index.section(.points, for: .sample))
        for (byteOffset, count) in [(Int64(2), 2), (4, 0), (-1, 1), (.max, 1), (0, .max), (0, -1)] {
            let error = #expect(throws: BlobError.self) { try section.read(at: byteOffset, count: count) }
            #expect(error?.code == .corrupted)
        }
        #expect(try section.read(at: 3, count: 0) == [])
    }

    @Test func layersOverOneOriginShareAFile() throws {
        let folder = try TemporaryFolder()
        let gzip = try folder.index(of: "gzip+file:///a.tgz")
        let member = try folder.index(of: "tar+gzip+file:///a.tgz#b/c.txt")
        #expect(gzip.path == member.path)
        try gzip.write([NewIndexSection(.points, flags: .hasOwnChecks, bytes: [1])], for: .sample)
        try member.write([NewIndexSection(.members, bytes: [2, 3])], for: .sample)
        #expect(try gzip.section(.points, for: .sample)?.bytes() == [1])
        #expect(try gzip.section(.members, for: .sample)?.bytes() == [2, 3])
        let sections = gzip.sections()
        #expect(sections.map(\.key) == [.members, .points] && sections.map(\.byteCount) == [2, 1])
        #expect(sections.allSatisfy { $0.content == .sample })
        #expect(folder.names.count == 1)
    }

    @Test func aSectionIsReplacedByTheOneOfTheSameKey() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        let old = try #require(try index.section(.points, for: .sample))
        try index.write([NewIndexSection(.points, bytes: [2])], for: .changed)
        #expect(try index.section(.points, for: .sample) == nil)
        #expect(try index.section(.points, for: .changed)?.bytes() == [2])
        #expect(try old.read(at: 0, count: 1) == [1], "What is open stays what it is.")
    }

    @Test func anotherContentIsNotTaken() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        for content in [
            .changed, IndexedContent(byteCount: 1001, validator: "strong:a", edgeChecksum: 7),
            IndexedContent(byteCount: 1000, validator: "weak:a", edgeChecksum: 7),
            IndexedContent(byteCount: 1000, validator: "strong:a", edgeChecksum: 8),
        ] { #expect(try index.section(.points, for: content) == nil) }
    }

    @Test func aFileOfAnotherOriginIsNotTaken() throws {
        let folder = try TemporaryFolder()
        let one = try folder.index(of: "file:///a")
        let other = try folder.index(of: "file:///b")
        #expect(one.path != other.path)
        try one.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        // As if both had the same hash.
        try FileManager.default.copyItem(atPath: one.path, toPath: other.path)
        #expect(try other.section(.points, for: .sample) == nil)
        try other.write([NewIndexSection(.members, bytes: [2])], for: .sample)
        #expect(other.sections().map(\.key) == [.members])
    }

    @Test func aNamedFileServesWhateverTheLocator() throws {
        let folder = try TemporaryFolder()
        let policy = BlobIndexPolicy.file(folder.path("x.idx"))
        let one = try #require(IndexFile(policy, for: BlobLocator("file:///a")))
        try one.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        let other = try #require(IndexFile(policy, for: nil))
        #expect(try other.section(.points, for: .sample)?.bytes() == [1])
        #expect(try other.remove())
        #expect(try !other.remove())
        #expect(folder.names.isEmpty)
    }

    @Test func aPasswordIsNotKept() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index(of: "https://u:secret@example.org/a")
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        let text = String(decoding: try read(index.path), as: UTF8.self)
        #expect(text.contains("example.org"))
        #expect(!text.contains("secret"))
    }

    @Test func whereNoIndexIsWantedOrPossibleThereIsNone() throws {
        let locator = try BlobLocator("file:///a")
        #expect(IndexFile(.none, for: locator) == nil)
        #expect(IndexFile(.automatic, for: nil) == nil)
        #expect(IndexFile(.folder("/nowhere", maximumByteCount: 1), for: nil) == nil)
        #expect(IndexFile(.folder("/nowhere", maximumByteCount: 1), for: locator)?.sections() == [])
    }

    @Test func theFolderIsMadeForTheUserAlone() throws {
        let folder = try TemporaryFolder()
        let path = folder.path("one/two")
        let index = try #require(IndexFile(.folder(path, maximumByteCount: 1000), for: BlobLocator("file:///a")))
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        for path in [path, folder.path("one")] {
            var status = stat()
            try #require(stat(path, &status) == 0)
            #expect(status.st_mode & 0o777 == 0o700)
        }
    }

    @Test func writersAtTheSameTimeLeaveAWholeFile() async throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        let payloads = (0..<8).map { [UInt8](repeating: $0, count: 10_000 + 1000 * Int($0)) }
        let failures = Locked<[String]>([])
        try await onThreads(payloads.count) { number in
            do {
                for _ in 0..<20 {
                    try index.write([NewIndexSection(.points, bytes: payloads[number])], for: .sample)
                    guard let bytes = try index.section(.points, for: .sample)?.bytes() else { continue }
                    if !payloads.contains(bytes) { failures.withLock { $0.append("mixed bytes") } }
                }
            } catch {
                failures.withLock { $0.append("\(error)") }
            }
        }
        #expect(failures.withLock { $0 } == [])
        let bytes = try #require(try index.section(.points, for: .sample)).bytes()
        #expect(payloads.contains(bytes))
        #expect(folder.names.count == 1, "No temporary file is left.")
    }
}
