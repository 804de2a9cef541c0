import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// What the central directory of a zip and the headers of its members say, together.
@Suite struct ZipTests {
    private static let text = Data(String(repeating: "some text, some more text, some text ", count: 20).utf8)

    /// Where the parts of `small.zip` are: members `one` and `two`, deflated.
    private struct Layout {
        let entries: [Int]
        let headers: [Int]
        let trailer: Int

        init(_ bytes: Data) {
            self.entries = bytes.places(of: [0x50, 0x4B, 1, 2])
            self.headers = bytes.places(of: [0x50, 0x4B, 3, 4])
            self.trailer = bytes.places(of: [0x50, 0x4B, 5, 6]).last ?? 0
        }
    }

    @Test(arguments: [
        ("the method", 10, 8, 0), ("the flags", 8, 6, 0), ("the checksum", 16, 14, 3), ("the length", 24, 22, 0),
        ("the compressed length", 20, 18, 0), ("the name", 46, 30, 0),
    ])
    func whatIsNotTheSameInBothPlacesIsRefused(what: String, entry: Int, header: Int, byte: Int) async throws {
        let bytes = try await Made.archive("small.zip")
        let layout = Layout(bytes)
        for place in [layout.entries[1] + entry + byte, layout.headers[1] + header + byte] {
            let damaged = bytes.flipping(at: place)
            let code = try await zip(damaged).code(.index(1))
            #expect(code == .inconsistent || what == "the flags" && code == .encrypted, "\(what)")
            #expect(try await zip(damaged).data("one") == Data("first member".utf8), "\(what)")
        }
    }

    @Test func membersThatLieOverOneAnotherAreRefused() async throws {
        var bytes = try await Made.archive("small.zip")
        let layout = Layout(bytes)
        // The first claims the bytes of the second, in both places.
        for place in [layout.entries[0] + 20, layout.headers[0] + 18] { bytes[place] &+= 40 }
        #expect(try await zip(bytes).code("one") == .inconsistent)
        #expect(try await zip(bytes).code("two") == .inconsistent)
    }

    @Test func aWrongNumberOfMembersIsRefused() async throws {
        var bytes = try await Made.archive("small.zip")
        bytes[Layout(bytes).trailer + 10] = 3
        #expect(try await zip(bytes).code("one") == .inconsistent)
        await #expect(throws: BlobError.self) { try await zip(bytes).members() }
    }

    @Test func whatStandsBeforeOrBehindAnArchiveDoesNoHarm() async throws {
        let bytes = try await Made.archive("small.zip")
        #expect(try await zip(Data("#!/bin/sh\n".utf8) + bytes).data("two") == Self.text)
        #expect(try await zip(bytes + Data(repeating: 0x20, count: 300)).data("two") == Self.text)
    }

    @Test func aMemberThatIsThereTwiceInARowIsOne() async throws {
        let bytes = try await Made.archive("small.zip")
        let layout = Layout(bytes)
        let last = bytes[layout.entries[1]..<layout.trailer]
        var trailer = bytes[layout.trailer...]
        for place in [8, 10] { trailer[trailer.startIndex + place] = 3 }
        trailer[trailer.startIndex + 12] &+= UInt8(last.count)
        let repeated = bytes[..<layout.trailer] + last + trailer
        #expect(try await zip(Data(repeated)).members().count == 2)
        #expect(try await zip(Data(repeated)).data("two") == Self.text)
    }

    @Test func otherMethodsAreReadByTheLibrary() async throws {
        let bytes = try await Made.archive("methods.zip")
        for name in ["bzip2", "lzma"] { #expect(try await zip(bytes).data(name) == Self.text, "\(name)") }
        var damaged = bytes
        let layout = Layout(bytes)
        for place in [layout.entries[0] + 16, layout.headers[0] + 14] { damaged[place] ^= 1 }
        #expect(try await zip(damaged).code("bzip2") == .checksumMismatch)
    }

    /// libarchive refuses the last bytes of LZMA when they come after all that they decode to.
    @Test(arguments: ["edge-data", "edge-all"])
    func theLastBytesOfLZMAAreGivenInOnePiece(_ name: String) async throws {
        let bytes = try await Made.archive("\(name).zip")
        #expect(try await zip(bytes).data("m") == Made.archive(name))
        let small = FaultSource(MemorySource(try await Made.archive("methods.zip")), .oneByte)
        #expect(try await ArchiveContainer(small, format: .zip).data("lzma") == Self.text)
    }

    @Test func lengthsBehindTheBytesAreCompared() async throws {
        let bytes = try await Made.archive("streamed.zip")
        #expect(try await zip(bytes).data("one") == Self.text)
        #expect(try await zip(bytes).data("two") == Data("stored".utf8))
        let descriptor = try #require(bytes.places(of: [0x50, 0x4B, 7, 8]).first)
        let damaged = bytes.flipping(at: descriptor + 8)
        #expect(try await zip(damaged).code("one") == .inconsistent)
    }

    /// More members than sixteen bits count.
    @Test func numbersOf64BitsAreRead() async throws {
        let bytes = try await Made.archive("zip64.zip")
        #expect(try await zip(bytes).data("one") == Self.text)
        #expect(try await zip(bytes).data("last") == Data("the last".utf8))
        #expect(try await zip(bytes).members().count == 70_001)
        #expect(try await zip(bytes).data(.index(70_000)) == Data("the last".utf8))
        for number in [0, 65_535, 65_536, 65_999] {
            #expect(try await zip(bytes).data("\(number)") == Data("\(number)".utf8))
        }
    }

    @Test func whatTheDirectorySaysIsListed() async throws {
        let members = try await zip(Made.archive("kinds.zip")).members()
        #expect(members.map(\.kind) == [.directory, .file, .symbolicLink])
        #expect(members[1].permissions == 0o750)
        #expect(members[1].checksum == "crc32:352441c2")
        #expect(members[2].linkTarget == Array("dir/abc".utf8))
        #expect(members.map { $0.modificationTime?.timeIntervalSince1970 } == [nil, 1_700_000_000, 1_700_000_000])
        #expect(try await zip(Made.archive("kinds.zip")).code("dir/") == .unsupported)
        #expect(try await zip(Made.archive("kinds.zip")).code("link") == .unsupported)
    }

    @Test func aLinkWithEndlessCompressedBytesIsListedWithoutItsTarget() async throws {
        let members = try await zip(Made.archive("slowlink.zip")).members()
        #expect(members.map(\.kind) == [.symbolicLink])
        #expect(members[0].linkTarget == nil)
    }

    @Test func headersAndDirectoryThatAreChangedAtRandomGiveTheRightBytesOrAnError() async throws {
        let seed = environmentNumber("BLOBSTREAMS_SEED") ?? UInt64.random(in: 0 ... .max)
        let count = environmentNumber("BLOB_MUTATIONS") ?? 500
        let originals = [try await Made.archive("small.zip"), try await Made.archive("streamed.zip")]
        try await onThread {
            var numbers = SplitMix64(seed: seed)
            for original in originals {
                let expected = try zip(original).contents()
                for round in 0..<count {
                    var bytes = original
                    for _ in 0..<Int.random(in: 1...4, using: &numbers) {
                        let place = Int.random(in: 0..<bytes.count, using: &numbers)
                        bytes[place] =
                            [0, 1, 0x50, 0xFF, UInt8.random(in: 0...255, using: &numbers)]
                            .randomElement(using: &numbers) ?? 0
                    }
                    if Int.random(in: 0..<8, using: &numbers) == 0 {
                        bytes.removeLast(Int.random(in: 1..<bytes.count, using: &numbers))
                    }
                    // A name may have changed, in both places.
                    for content in (try? zip(bytes).contents()) ?? [] where content != nil {
                        #expect(expected.contains(content), "seed \(seed), round \(round)")
                    }
                }
            }
        }
    }
}

extension ArchiveContainer {
    /// What the members have in them, as far as they can be read.
    fileprivate func contents() throws -> [Data?] {
        var contents: [Data?] = []
        try self.forEachMember(BlobContext()) { member in
            contents.append(try? self.member(.index(member.index), context: BlobContext()).data(upTo: 1 << 20))
            return true
        }
        return contents
    }
}

extension Data {
    fileprivate func places(of bytes: [UInt8]) -> [Int] {
        self.indices.dropLast(bytes.count - 1).filter { self[$0..<($0 + bytes.count)].elementsEqual(bytes) }
    }
}
