import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// Sums of cpio, global headers of tar, and times beyond the calendar.
@Suite struct SmallTruthTests {
    @Test(arguments: [false, true])
    func theSumOfACpioIsCheckedAtTheEndOfTheMember(isByteByByte: Bool) async throws {
        let bytes = try await Made.archive("sums.cpio")
        func archive(_ bytes: Data) -> ArchiveContainer {
            ArchiveContainer(isByteByByte ? OneByteSource(bytes: bytes) : MemorySource(bytes), format: .cpio)
        }
        #expect(try await archive(bytes).data("right") == Made.data(300_000))
        // The others alone, so that the first, which is long, is read once.
        let second = try #require(bytes.range(of: Data("070702".utf8), in: 1..<bytes.count)).lowerBound
        let archive = archive(bytes[second...])
        #expect(try await archive.code("wrong") == .checksumMismatch)
        #expect(try await archive.code(.index(0)) == .checksumMismatch)
        for name in ["first", "second"] { #expect(try await archive.data(name) == Data("both".utf8)) }
        #expect(try await archive.data(String(repeating: "n", count: 5000)) == Data("long".utf8))
        #expect(try await archive.data("last") == Data())
        try await onThread {
            let reader = try archive.member(.name("wrong"), context: BlobContext()).open()
            defer { reader.close() }
            var found: [UInt8] = []
            #expect(throws: BlobError.self) {
                while case let byte = try read(reader, upTo: 1), !byte.isEmpty { found += byte }
            }
            #expect(found == Array("wrong".utf8))
        }
    }

    @Test func everyFlippedByteOfASummedMemberIsSeen() async throws {
        let bytes = try await Made.archive("sums.cpio")
        let start = try #require(bytes.range(of: Data("long".utf8))).lowerBound
        for offset in start..<(start + 4) {
            let archive = ArchiveContainer(MemorySource(bytes.flipping(at: offset)), format: .cpio)
            #expect(try await archive.code(.index(4)) == .checksumMismatch)
        }
    }

    /// As Python's tarfile has it, except for names, and GNU tar but for its forgetting earlier global headers.
    @Test func globalHeadersOfPaxCountUntilTheyAreReplaced() async throws {
        let archive = tar(try await Made.archive("global.tar"))
        let members = try await archive.members()
        let names = members.map { String(decoding: $0.name, as: UTF8.self) }
        #expect(names == ["a", "own", "c", "d", "e", "f", "g/", "h"])
        #expect(members.map(\.byteCount) == [5, 3, nil, 1, 700, 3, nil, 700])
        let times = members.map { $0.modificationTime?.timeIntervalSince1970 }
        #expect(times == [1000, 2000, 3000, 3000, 3000, 3000, 3000, 3000])
        #expect(members[2].linkTarget == Array("x".utf8))
        // Also once there is a table, several times.
        for _ in 0..<5 {
            #expect(try await archive.data("own") == Data("bbb".utf8))
            #expect(try await archive.data("e") == Data(repeating: UInt8(ascii: "e"), count: 700))
            #expect(try await archive.data(.index(7)) == Data(repeating: UInt8(ascii: "h"), count: 700))
            #expect(try await archive.data("a") == Data("aaaaa".utf8))
            #expect(try await archive.code("all") == .notFound)
        }
    }

    @Test func timesThatCannotBeRepresentedAreNone() {
        #expect(Date(seconds: 5, nanoseconds: 500_000_000) == Date(timeIntervalSince1970: 5.5))
        #expect(Date(seconds: 253_402_300_800, nanoseconds: 0)?.timeIntervalSince1970 == 253_402_300_800)
        let others: [(Int64, Int64)] = [(5, -1), (5, 1_000_000_000), (.max, 0), (.min, 0), (1 << 53, 0)]
        for (seconds, nanoseconds) in others {
            #expect(Date(seconds: seconds, nanoseconds: nanoseconds) == nil)
        }
        for seconds in [Double.nan, .infinity, 1e15, -1e300] { #expect(Date(memberTime: seconds) == nil) }
    }
}
