import BlobDeflate
import BlobIndex
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// Any byte at once: restart points, blocks, and what becomes of them when something is wrong.
@Suite struct GzipIndexTests {
    /// 3.3 MB: some restart points.
    private static let bytes = mixedBytes(3_300_000)

    /// The same bytes in many forms, with the number of restart points of their index.
    private static let forms: [(name: String, format: GzipSource.Format, compressed: Data, pointCount: Int)] = [
        ("gzip", .gzip, gzipped(bytes), 3), ("level 1", .gzip, gzipped(bytes, level: 1), 3),
        ("stored", .gzip, gzipped(bytes, level: 0), 3), ("zlib", .zlib, compressed(bytes, .zlib), 3),
        ("deflate", .deflate, compressed(bytes, .deflate), 3),
        ("members", .gzip, pieces(of: bytes, 300_000).reduce(Data()) { $0 + gzipped($1) }, 11),
        (
            "one large, many small", .gzip,
            gzipped(bytes.prefix(2_000_000))
                + pieces(of: bytes.dropFirst(2_000_000), 1000).reduce(Data()) { $0 + gzipped($1) },
            12
        ),
        ("blocks", .gzip, blocked(bytes), 17), ("padded", .gzip, gzipped(bytes) + Data(count: 1000), 3),
    ]

    /// A source that found no index once kept that for its life.
    @Test func anIndexThatAnotherSourceWroteIsUsed() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data", gzipped(Self.bytes))
        let policy = BlobIndexPolicy.file(folder.path("index"))
        let early = GzipSource(file, index: policy)
        #expect(try early.info().byteCount == nil)
        let bytes = Self.bytes
        #expect(outcome(of: GzipSource(file, index: policy)).bytes == bytes)
        #expect(try early.info().byteCount == Int64(bytes.count))
        #expect(try early.info().isRandomAccess)
    }

    @Test(arguments: forms.indices, InflateLibrary.available)
    func everyOffsetIsFoundAndVerified(form: Int, library: InflateLibrary) throws {
        let folder = try TemporaryFolder()
        let (name, format, compressed, pointCount) = Self.forms[form]
        let file = try folder.file("data", compressed)
        let policy = BlobIndexPolicy.file(folder.path("index"))
        let source = GzipSource(file, format: format, index: policy, library: library)
        #expect(try !source.info().isRandomAccess)
        #expect(try source.buildIndex(BlobContext()))
        #expect(try source.info().isRandomAccess)
        #expect(try source.info(BlobContext()).byteCount == Int64(Self.bytes.count))
        let points = try #require(try source.facts(BlobContext()).first { $0.name == "restart points" })
        // Where blocks end among small members, one more may fit.
        #expect([Int64(pointCount), Int64(pointCount + 1)].contains(points.value as? Int64), "\(name)")

        // Another one, which finds what the first wrote, and may decode with another library.
        let reading = InflateLibrary.available.randomElement() ?? .zlib
        let other = GzipSource(file, format: format, index: policy, library: reading)
        #expect(outcome(of: other, pieceByteCount: 100_000).bytes == Self.bytes, "\(name)")
        var random = SystemRandomNumberGenerator()
        let count = Self.bytes.count
        let offsets =
            [0, 1, 65_535, 65_536, 65_537, 1_048_576, count - 1, count]
            + (0..<20).map { _ in Int.random(in: 0...count, using: &random) }
        for offset in offsets {
            let reader = try other.open(at: Int64(offset))
            let expected = Self.bytes.dropFirst(offset).prefix(100_000)
            #expect(try reader.bytes(atMost: 100_000) == Array(expected), "\(name) at \(offset)")
        }
        #expect(codeThrown(by: { try other.open(at: Int64(count + 1)) }) == .invalidArgument)
    }

    /// A block of deflate data may be as long as its stream: one thread takes such a slice, others the rest.
    @Test func slicesOfAnySizeComeInOrder() throws {
        let folder = try TemporaryFolder()
        let zeros = Data(count: 9_000_000)
        let bytes = Self.bytes + zeros + Self.bytes.reversed() + zeros.prefix(5_000_000) + Self.bytes
        let file = try folder.file("data.gz", gzipped(bytes))
        let policy = BlobIndexPolicy.file(folder.path("index"))
        #expect(try GzipSource(file, index: policy).buildIndex(BlobContext()))
        let source = GzipSource(file, index: policy)
        let largest = try source.facts(BlobContext()).last { $0.name.hasPrefix("largest") }?.value
        #expect(try #require(largest as? Int64) > 4_000_000)
        for pieceByteCount in [10_000, 300_000, 3_000_000] {
            let outcome = outcome(of: source, pieceByteCount: pieceByteCount)
            #expect(outcome.isWhole && outcome.bytes == bytes)
        }
        #expect(outcome(of: source, at: 12_000_000, pieceByteCount: 65_536).bytes == bytes.dropFirst(12_000_000))
    }

    @Test func theFirstReadingOfTheWholeLeavesAnIndexBehind() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", gzipped(Self.bytes))
        let events = Locked<[BlobEvent]>([])
        let context = BlobContext(eventSink: { event in events.withLock { $0.append(event) } })
        let source = GzipSource(file, index: .file(folder.path("index")))
        let reader = try source.open(context: context)
        #expect(try reader.bytes(atMost: 5_000_000) == Array(Self.bytes))
        let event = try #require(events.withLock { $0.first { $0.kind == .indexBuilt } })
        let byteCount = event.value
        // A window takes 32 KiB at most, and those of text far less.
        #expect(byteCount < 64 * 1024)
        // The same source uses it too, and does not build it again.
        #expect(try source.info(context).byteCount == 3_300_000)
        #expect(outcome(of: source, pieceByteCount: 65_536).bytes == Self.bytes)
        #expect(try GzipSource(file, index: .file(folder.path("index"))).info(BlobContext()).byteCount == 3_300_000)
    }

    @Test func whatIsSmallLeavesNoneBehindUnasked() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", gzipped(Self.bytes.prefix(100_000)))
        let source = GzipSource(file, index: .folder(folder.path("indexes"), maximumByteCount: 1 << 20))
        #expect(outcome(of: source).isWhole)
        #expect(!FileManager.default.fileExists(atPath: folder.path("indexes")))
        #expect(try source.buildIndex(BlobContext()))
        #expect(try source.info(BlobContext()).byteCount == 100_000)
    }

    @Test func aPartialReadingLeavesNoneBehind() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", gzipped(Self.bytes))
        let reader = try GzipSource(file, index: .file(folder.path("index"))).open()
        _ = try reader.bytes(atMost: 3_000_000)
        reader.close()
        #expect(!FileManager.default.fileExists(atPath: folder.path("index")))
    }

    @Test func anIndexOfOtherContentIsNotUsed() throws {
        let folder = try TemporaryFolder()
        let policy = BlobIndexPolicy.file(folder.path("index"))
        let file = try folder.file("data.gz", gzipped(Self.bytes))
        let source = GzipSource(file, index: policy)
        #expect(try source.buildIndex(BlobContext()))
        let changed = Data(Self.bytes.reversed())
        _ = try folder.file("data.gz", gzipped(changed))
        for source in [source, GzipSource(file, index: policy)] {
            #expect(outcome(of: source, at: 2_000_000, pieceByteCount: 65_536).bytes == changed.dropFirst(2_000_000))
        }
        #expect(outcome(of: source, pieceByteCount: 65_536).bytes == changed)
    }

    /// The validator does not see it: as after the bits of a disk went.
    @Test func bytesThatAreNotThoseOfTheIndexAreAnError() throws {
        let folder = try TemporaryFolder()
        let compressed = gzipped(Self.bytes)
        let memory = Locked(compressed)
        let info = BlobInfo(byteCount: Int64(compressed.count), validator: .strong("always"))
        let base = ClosureSource(info: info) { offset, output, _ in
            memory.withLock { bytes in
                _ = bytes.dropFirst(Int(offset)).prefix(100_000).withUnsafeBytes { output.append(contentsOf: $0) }
            }
        }
        let source = GzipSource(base, index: .file(folder.path("index")))
        #expect(try source.buildIndex(BlobContext()))
        for _ in 0..<50 {
            let place = Int.random(in: 5000..<(compressed.count - 5000))
            memory.withLock { $0[place] ^= 0x10 }
            for start in [0, 1_500_000] {
                let outcome = outcome(of: source, at: Int64(start), pieceByteCount: 65_536)
                let expected = Self.bytes.dropFirst(start)
                // Damage before the restart point is not met.
                #expect(expected.starts(with: outcome.bytes) && (!outcome.isWhole || outcome.bytes == expected))
                if start == 0 { #expect(!outcome.isWhole) }
            }
            memory.withLock { $0[place] ^= 0x10 }
        }
    }

    @Test func aDamagedIndexNeverGivesWrongBytes() throws {
        let folder = try TemporaryFolder()
        let bytes = Self.bytes.prefix(2_500_000)
        let file = try folder.file("data.gz", gzipped(bytes))
        let policy = BlobIndexPolicy.file(folder.path("index"))
        #expect(try GzipSource(file, index: policy).buildIndex(BlobContext()))
        let index = try Data(contentsOf: URL(fileURLWithPath: folder.path("index")))
        for number in 0..<400 {
            var damaged = index
            // Some are cut, the others have a bit flipped.
            if number % 8 == 0 {
                damaged = damaged.prefix(Int.random(in: 0..<damaged.count))
            } else {
                damaged[Int.random(in: 0..<damaged.count)] ^= 1 << UInt8.random(in: 0...7)
            }
            try damaged.write(to: URL(fileURLWithPath: folder.path("index")))
            let outcome = outcome(
                of: GzipSource(file, index: policy).slice(1_900_000..<2_000_000), pieceByteCount: 65_536)
            let expected = bytes.dropFirst(1_900_000).prefix(100_000)
            #expect(outcome.isWhole && outcome.bytes == expected)
        }
    }

    /// Numbers that only somebody who means harm writes, as the checksum of the section is right.
    @Test func sizesThatNoContentHasAreNoTrap() {
        let largest: [UInt8] = [UInt8](repeating: 0xFF, count: 8) + [0x7F]  // 2^63 - 1, as a varint.
        let onePoint: [UInt8] = [1, 0, 0, 0]
        for header in [[1, 100] + largest + [1], [1] + largest + [100, 1], [1] + largest + largest + [1]] {
            #expect(codeThrown(by: { try GzipIndexLayout(decoding: header + onePoint, spacing: 1) }) == .corrupted)
        }
        #expect(throws: Never.self) {
            try GzipIndexLayout(decoding: [1, 100, 5, 1] + onePoint + [0, 0, 0, 0], spacing: 1)
        }
    }

    /// The folder for indexes is ours; what the user named is not.
    @Test(arguments: [true, false]) func damagedWindowsCostTheFileUnlessItWasNamed(isNamed: Bool) throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", gzipped(Self.bytes))
        let policy: BlobIndexPolicy =
            isNamed ? .file(folder.path("index")) : .folder(folder.path("indexes"), maximumByteCount: 1 << 20)
        #expect(try GzipSource(file, index: policy).buildIndex(BlobContext()))
        let path = try #require(IndexFile(policy, for: file.locator)).path
        // The windows come behind the head of 16 bytes and the points; those of the last point end in front of the
        // table.
        let index = try Data(contentsOf: URL(fileURLWithPath: path))
        var damaged = index
        for place in 400..<(index.count - 800) { damaged[place] ^= 0x55 }
        try damaged.write(to: URL(fileURLWithPath: path))
        let source = GzipSource(file, index: policy)
        #expect(try source.info(BlobContext()).byteCount == Int64(Self.bytes.count))
        #expect(outcome(of: source, pieceByteCount: 65_536).bytes == Self.bytes)
        #expect(try source.open(at: 3_200_000).bytes(atMost: 1000) == Array(Self.bytes[3_200_000..<3_201_000]))
        #expect(FileManager.default.fileExists(atPath: path) == isNamed)
        if isNamed { #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == damaged) }
        #expect(try GzipSource(file, index: policy).buildIndex(BlobContext()))
        #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == index)
    }

    /// Whatever is there: damaged, stale, or of something else.
    @Test func aReadingLeavesTheFileThatTheUserNamedAsItIs() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", gzipped(Self.bytes))
        let path = folder.path("index")
        #expect(try GzipSource(file, index: .file(path)).buildIndex(BlobContext()))
        let whole = try Data(contentsOf: URL(fileURLWithPath: path))
        _ = try folder.file("data.gz", gzipped(Data(Self.bytes.reversed())))
        for found in [whole, whole.prefix(100), Data(), Data("Dear reader".utf8)] {
            try found.write(to: URL(fileURLWithPath: path))
            let outcome = outcome(of: GzipSource(file, index: .file(path)), pieceByteCount: 65_536)
            #expect(outcome.isWhole && outcome.bytes == Data(Self.bytes.reversed()))
            #expect(try Data(contentsOf: URL(fileURLWithPath: path)) == found)
        }
    }

    @Test(arguments: [1, 7, 4096, 3_400_000]) func blocksAreDecodedInOrder(pieceByteCount: Int) throws {
        let bytes = pieceByteCount < 100 ? Self.bytes.prefix(200_000) : Self.bytes
        let source = GzipSource(MemorySource(blocked(bytes)))
        let outcome = outcome(of: source, pieceByteCount: pieceByteCount)
        #expect(outcome.isWhole && outcome.bytes == bytes)
        for offset in [1, 65_279, 65_280, 65_281, bytes.count - 1, bytes.count] {
            #expect(
                try source.open(at: Int64(offset)).bytes(atMost: 1000) == Array(bytes.dropFirst(offset).prefix(1000)))
        }
    }

    @Test func offsetsInBlocksOfAFileAreFound() throws {
        let folder = try TemporaryFolder()
        let compressed = blocked(Self.bytes)
        let source = GzipSource(try folder.file("data.gz", compressed))
        for offset in [70_000, 3_299_999, 1_000_000, 3_300_000, 2_500_000] {
            #expect(
                try source.open(at: Int64(offset)).bytes(atMost: 100_000)
                    == Array(Self.bytes.dropFirst(offset).prefix(100_000)))
        }
        #expect(codeThrown(by: { try source.open(at: 3_300_001).bytes(atMost: 1) }) == .invalidArgument)
    }

    /// A length that spans two members, or ends in the middle of one, is that of no block.
    @Test(arguments: [-30, -1, 1, 29, 200]) func theLengthThatABlockGivesIsNotBelieved(error: Int) throws {
        let folder = try TemporaryFolder()
        let first = Data("0123456789".utf8)
        let second = Data(String(repeating: "A", count: 10).utf8)
        for (bytes, lying) in [(first, first.count), (Self.bytes.prefix(600_000), 65_280)] {
            let members = [Data(bytes.prefix(lying)), second, Data(bytes.dropFirst(lying))].map { blocked($0) }
            var compressed = members.reduce(Data(), +)
            // BSIZE of the first block; -30 stands for all of the second one too.
            let right = Int(compressed[16]) | Int(compressed[17]) << 8
            let second = blockByteCount(members[1])
            let wrong = error == -30 ? right + emptyBlockByteCount + second : right + error
            compressed.replaceSubrange(16..<18, with: wrong.littleEndian(2))
            let expected = bytes.prefix(lying) + Data(String(repeating: "A", count: 10).utf8) + bytes.dropFirst(lying)
            let file = try folder.file("data.gz", compressed)
            let whole = outcome(of: GzipSource(file), pieceByteCount: 65_536)
            #expect(whole.isWhole && whole.bytes == expected)
            for offset in [1, lying - 1, lying, lying + 5, expected.count - 1] {
                let found = outcome(of: GzipSource(file), at: Int64(offset), pieceByteCount: 65_536)
                #expect(found.isWhole && found.bytes == expected.dropFirst(offset), "\(lying) from \(offset)")
            }
        }
    }

    @Test func damageInBlocksThatArePassedOverIsSeen() throws {
        let folder = try TemporaryFolder()
        var compressed = blocked(Self.bytes)
        compressed[2000] ^= 0xFF
        let source = GzipSource(try folder.file("data.gz", compressed))
        #expect(!outcome(of: source, at: 1_000_000, pieceByteCount: 65_536).isWhole)
        #expect(!outcome(of: source, pieceByteCount: 65_536).isWhole)
    }

    @Test func theFirstReadingOfAllBlocksLeavesAnIndexBehind() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", blocked(Self.bytes))
        let policy = BlobIndexPolicy.folder(folder.path("indexes"), maximumByteCount: 1 << 20)
        let noise = Data((0..<5_000_000).map { _ in UInt8.random(in: 0...255) })
        let large = try folder.file("large.gz", blocked(noise))
        for (file, bytes) in [(file, Self.bytes), (large, noise)] {
            #expect(outcome(of: GzipSource(file, index: policy), pieceByteCount: 65_536).bytes == bytes)
            let source = GzipSource(file, index: policy)
            // What is decoded in some milliseconds is not worth an index.
            let isIndexed = bytes.count > 4 << 20
            #expect(try source.info(BlobContext()).byteCount == (isIndexed ? Int64(bytes.count) : nil))
            #expect(outcome(of: source, pieceByteCount: 65_536).bytes == bytes)
            #expect(try source.open(at: 3_200_000).bytes(atMost: 1000) == Array(bytes[3_200_000..<3_201_000]))
            guard isIndexed else { continue }
            #expect(try source.facts(BlobContext()).first { $0.name == "members" }?.value as? Int64 == 78)
        }
    }

    @Test func whateverFollowsBlocksIsJudgedAsAlways() throws {
        let bytes = Self.bytes.prefix(300_000)
        let blocks = blocked(bytes)
        #expect(outcome(decoding: blocks + Data(count: 100)).bytes == bytes)
        #expect(outcome(decoding: blocks + Data(count: 100)).isWhole)
        #expect(outcome(decoding: blocks + gzipped(Data("end".utf8))).bytes == bytes + Data("end".utf8))
        #expect(outcome(decoding: gzipped(Data("start".utf8)) + blocks).bytes == Data("start".utf8) + bytes)
        let junk = outcome(decoding: blocks + Data("junk".utf8))
        #expect(junk.bytes == bytes && junk.error?.code == .trailingData)
        #expect(junk.error?.byteOffset == Int64(blocks.count))
        for count in [1, 17, 18, 19, 25, 27] {
            let cut = outcome(decoding: blocks.dropLast(28) + blocks.suffix(28).prefix(count))
            #expect(cut.bytes == bytes && cut.error?.code == .truncated, "\(count)")
        }
    }

    @Test func theBlocksBeforeAFailureOfTheBaseComeFirst() throws {
        let bytes = Self.bytes.prefix(1_000_000)
        let blocks = blocked(bytes)
        let place = blocks.count * 9 / 10
        let outcome = outcome(of: GzipSource(FaultSource(MemorySource(blocks), .fail(at: Int64(place)))))
        #expect(!outcome.isWhole && bytes.starts(with: outcome.bytes))
        #expect(outcome.bytes.count > bytes.count * 8 / 10)
    }

    @Test func everyDamagedBlockIsSeen() throws {
        let bytes = Self.bytes.prefix(200_000)
        let blocks = blocked(bytes)
        for number in 0..<300 {
            var damaged = blocks
            if number % 4 == 0 {
                damaged = damaged.prefix(Int.random(in: 0..<damaged.count))
            } else {
                damaged[Int.random(in: 0..<damaged.count)] ^= 1 << UInt8.random(in: 0...7)
            }
            let outcome = outcome(decoding: damaged)
            #expect(bytes.starts(with: outcome.bytes) && (!outcome.isWhole || outcome.bytes == bytes))
        }
    }

    @Test(arguments: ["gzip", "blocks"]) func withAnIndexEveryContractIsKept(name: String) async throws {
        let folder = try TemporaryFolder()
        let bytes = Self.bytes.prefix(2_200_000)
        let file = try folder.file("data.gz", name == "gzip" ? gzipped(bytes) : blocked(bytes))
        let policy = BlobIndexPolicy.file(folder.path("index"))
        #expect(try GzipSource(file, index: policy).buildIndex(BlobContext()))
        let found = await violations(
            of: GzipSource(file, index: policy).slice(1_040_000..<1_060_000),
            expecting: Data(bytes[1_040_000..<1_060_000]))
        #expect(found.isEmpty)
    }
}

extension TemporaryFolder {
    /// Writes a file, and gives it as a source.
    func file(_ name: String, _ bytes: Data) throws -> FileSource {
        FileSource(path: try self.write(Array(bytes), to: name))
    }
}

/// Text, numbers and noise.
func mixedBytes(_ count: Int) -> Data {
    var bytes = Data(capacity: count)
    var (state, number) = (UInt64(3), 0)
    while bytes.count < count {
        state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
        number += 1
        if state >> 61 == 0 {
            withUnsafeBytes(of: state) { bytes.append(contentsOf: $0) }
        } else {
            bytes.append(
                contentsOf: "line \(number): \(["red", "green", "blue", "black"][Int(state >> 62)]) \(state >> 50)\n"
                    .utf8)
        }
    }
    return bytes.prefix(count)
}

private func pieces(of bytes: Data, _ byteCount: Int) -> [Data] {
    stride(from: bytes.startIndex, to: bytes.endIndex, by: byteCount).map {
        Data(bytes[$0..<min($0 + byteCount, bytes.endIndex)])
    }
}

/// As `bgzip` writes them: 65,280 bytes a block, and an empty one at the end.
func blocked(_ bytes: Data) -> Data {
    (pieces(of: bytes, 65_280) + [Data()]).reduce(Data()) { blocks, piece in
        var member = GzipMember(bytes: piece, level: 6)
        member.extra = Data("BC".utf8) + 2.littleEndian(2) + 0.littleEndian(2)
        let byteCount = member.encoded.count
        member.extra = Data("BC".utf8) + 2.littleEndian(2) + (byteCount - 1).littleEndian(2)
        return blocks + member.encoded
    }
}

/// How long the empty block at the end of ``blocked(_:)`` is, and the first block.
private let emptyBlockByteCount = blocked(Data()).count
private func blockByteCount(_ blocks: Data) -> Int { (Int(blocks[16]) | Int(blocks[17]) << 8) + 1 }
