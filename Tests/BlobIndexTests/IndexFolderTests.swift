import BlobIndex
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@Suite struct IndexFolderTests {
    private static func setLastUse(_ path: String, secondsAgo: Int) throws {
        let then = timespec(tv_sec: time(nil) - secondsAgo, tv_nsec: 0)
        try #require(utimensat(AT_FDCWD, path, [then, then], 0) == 0)
    }

    @Test func theLeastRecentlyUsedGoFirst() throws {
        let folder = try TemporaryFolder()
        let bound: Int64 = 50_000
        let payload = [UInt8](repeating: 1, count: 15_000)
        let indexes = try (0..<3).map { try folder.index(of: "file:///\($0)", maximumByteCount: bound) }
        for (number, index) in indexes.enumerated() {
            try index.write([NewIndexSection(.points, bytes: payload)], for: .sample)
            try Self.setLastUse(index.path, secondsAgo: 100_000 - number)
        }
        // A look at the oldest makes it the youngest.
        #expect(try indexes[0].section(.points, for: .sample) != nil)
        try folder.write([1], to: "somebody's")
        let new = try folder.index(of: "file:///new", maximumByteCount: bound)
        try new.write([NewIndexSection(.points, bytes: payload)], for: .sample)
        #expect(indexes.map { $0.sections().isEmpty } == [false, true, false])
        #expect(!new.sections().isEmpty)
        #expect(folder.names.contains("somebody's"))
    }

    @Test func aFileLargerThanTheBoundIsNotWritten() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index(maximumByteCount: 10_000)
        try index.write([NewIndexSection(.members, bytes: [1])], for: .sample)
        let error = #expect(throws: BlobError.self) {
            try index.write([NewIndexSection(.points, bytes: [UInt8](repeating: 1, count: 10_000))], for: .sample)
        }
        #expect(error?.code == .limitExceeded)
        #expect(index.sections().map(\.key) == [.members])
        #expect(folder.names.count == 1)
    }

    @Test func anOldSectionGivesWayToANewOneWithinTheBound() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index(maximumByteCount: 10_000)
        let payload = [UInt8](repeating: 1, count: 6000)
        try index.write([NewIndexSection(.members, bytes: payload)], for: .sample)
        try index.write([NewIndexSection(.points, bytes: payload)], for: .sample)
        #expect(index.sections().map(\.key) == [.points])
    }

    @Test func sectionsAreBoundedInNumber() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index(maximumByteCount: 1 << 20)
        for range in [0..<200, 200..<300] {
            let sections = range.map {
                NewIndexSection(
                    IndexSection.Key(layer: "\($0)", kind: .members), bytes: [UInt8(truncatingIfNeeded: $0)])
            }
            try index.write(sections, for: .sample)
        }
        #expect(index.sections().count == 256)
        #expect(index.sections().map(\.key.layer) == (Array(200..<300) + Array(0..<156)).map(String.init))
    }

    @Test func whatEndedWritersLeftGoesAfterADay() throws {
        let folder = try TemporaryFolder()
        let index = try folder.index()
        let name = try #require(index.path.split(separator: "/").last)
        for (mark, secondsAgo) in [("old", 100_000), ("new", 1000)] {
            try folder.write([1], to: ".\(name).\(mark)")
            try Self.setLastUse(folder.path(".\(name).\(mark)"), secondsAgo: secondsAgo)
        }
        try index.write([NewIndexSection(.points, bytes: [1])], for: .sample)
        #expect(folder.names == [".\(name).new", String(name)])
    }

    @Test func theNameOfAFileIsTheHashOfItsOrigin() throws {
        let folder = try TemporaryFolder()
        // Computed with Python's integers from the definition of FNV-1a, 64 bits.
        #expect(
            try folder.index(of: "file:///a").path == folder.path("315ec1ef78086529.blobindex"))
    }
}
