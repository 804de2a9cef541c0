import BlobIndex
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import GzipSource

/// Ranges of blocked gzip without an index.
@Suite struct BlockRangesTests {
    /// 500 ranges walked all blocks 500 times.
    @Test func manyRangesTogetherReadTheBlocksOnce() throws {
        let part = mixedBytes(3_300_000)
        let blocks = blocked(part)
        let copyCount = 8
        let base = CountedBytes((0..<copyCount).reduce(Data()) { data, _ in data + blocks })
        let bytes = (0..<copyCount).reduce(Data()) { data, _ in data + part }
        let source = GzipSource(base.source)
        var random = SplitMix64(seed: 13)
        let offsets = [bytes.count - 1000] + (0..<500).map { _ in Int.random(in: 0..<bytes.count, using: &random) }
        for offset in offsets {
            let found = try source.open(at: Int64(offset)).bytes(atMost: 1000)
            #expect(found == Array(bytes.dropFirst(offset).prefix(1000)), "at \(offset)")
        }
        // A range decodes some blocks around it, of which each is at most 64 KiB long.
        let most = base.byteCount + offsets.count * 6 * DecodingPass.inputByteCount
        #expect(base.readByteCount <= Int64(most), "\(base.byteCount) bytes")
        // Which is far less than that of a walk to each of them.
        #expect(Int64(most) < Int64(base.byteCount) * Int64(offsets.count) / 8)
    }

    /// A position is kept only where decoding was between two members, whatever the headers say.
    @Test func positionsComeFromDecodingAlone() throws {
        let pieces = (0..<40).map { sampleBytes(60_000, seed: UInt64($0 + 1)) }
        let members = pieces.map { blocked($0).dropLast(28) }
        var compressed = Data(members.joined())
        // The first block claims to end with the second one.
        let both = members[0].count + members[1].count
        try #require(both <= 65_536)
        compressed.replaceSubrange(16..<18, with: (both - 1).littleEndian(2))
        let bytes = Data(pieces.joined())
        let base = CountedBytes(compressed)
        let source = GzipSource(base.source)
        #expect(outcome(of: source, pieceByteCount: 65_536).bytes == bytes)
        for offset in stride(from: 0, to: bytes.count, by: 20_000) {
            let found = outcome(of: source, at: Int64(offset), pieceByteCount: 65_536)
            #expect(found.isWhole && found.bytes == bytes.dropFirst(offset), "from \(offset)")
        }
    }

    @Test func positionsAreBoundedInNumber() throws {
        let reached = ReachedPoints(maximumCount: 100)
        #expect(reached.last(before: .max) == .start)
        for number in 1...10_000 {
            reached.append(RestartPoint(bitOffset: Int64(number), byteOffset: Int64(number) * 65_280))
            #expect(reached.count <= 100)
        }
        #expect(reached.count >= 40)
        for number in [1, 5000, 10_000] {
            let byteOffset = Int64(number) * 65_280
            let found = reached.last(before: byteOffset)
            #expect(found.byteOffset == found.bitOffset * 65_280)
            #expect(found.byteOffset <= byteOffset)
            #expect(byteOffset - found.byteOffset <= 10_000 / 40 * 65_280)
        }
    }

    /// Positions of other content replace the first ones; positions of content without a validator are not kept.
    @Test func positionsAreThoseOfOneContent() {
        let learned = CachedFacts<ReachedPoints>()
        let info = { BlobInfo(byteCount: 1, validator: .strong($0)) }
        let first = learned.facts(of: info("a")) { ReachedPoints() }
        #expect(learned.facts(of: info("a")) { ReachedPoints() } === first)
        #expect(learned.facts(of: info("b")) { ReachedPoints() } !== first)
        #expect(learned.facts(of: info("a")) { ReachedPoints() } !== first)
        let last = learned.last
        #expect(learned.facts(of: BlobInfo(byteCount: 1)) { ReachedPoints() } !== learned.last && learned.last === last)
    }
}
