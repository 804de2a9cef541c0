import BlobIndex
import Testing

/// Cuts at restart points that cost the same.
@Suite struct RestartPointsTests {
    private static func points(_ offsets: [Int64], end: Int64, ratio: Int64 = 3) -> RestartPoints {
        RestartPoints(
            offsets.map { RestartPoint(bitOffset: $0 / ratio * 8, byteOffset: $0) }, compressedByteCount: end / ratio,
            byteCount: end)
    }

    @Test func evenPointsAreCutEvenly() {
        let points = Self.points((0..<2000).map { $0 << 20 }, end: 2000 << 20)
        for count in [1, 2, 3, 16, 200] {
            let cuts = points.cuts(count: count).map(\.byteOffset)
            #expect(cuts.count == count && cuts.first == 0)
            let ends = cuts.dropFirst() + [points.byteCount]
            let lengths = zip(cuts, ends).map { $1 - $0 }
            #expect(lengths.min() ?? 0 >= Int64(2000 / count - 1) << 20, "\(lengths)")
            #expect(lengths.max() ?? .max <= Int64(2000 / count + 2) << 20, "\(lengths)")
        }
    }

    /// A first half that compresses to nothing costs less than the second.
    @Test func whatCompressesWellIsInFewerParts() {
        let offsets = (0..<1000).map { Int64($0) << 20 }
        let points = RestartPoints(
            offsets.map { RestartPoint(bitOffset: max(0, $0 - 500 << 20) * 8, byteOffset: $0) },
            compressedByteCount: 500 << 20, byteCount: 1000 << 20)
        let cuts = points.cuts(count: 10).map(\.byteOffset)
        #expect(cuts.count == 10)
        #expect(cuts.count { $0 < 500 << 20 } < 3, "\(cuts)")
    }

    @Test func thereAreNoMorePartsThanPoints() {
        #expect(Self.points([0], end: 0).cuts(count: 5).map(\.byteOffset) == [0])
        #expect(Self.points([0], end: 100).cuts(count: 5).map(\.byteOffset) == [0])
        #expect(Self.points([0, 90], end: 100).cuts(count: 5).map(\.byteOffset) == [0, 90])
        #expect(Self.points([0, 1, 2, 3], end: 1000).cuts(count: 100).map(\.byteOffset) == [0, 3])
        #expect(Self.points([], end: 0).cuts(count: 3).isEmpty)
    }

    @Test func placesInARangeCountFromItsStart() {
        let points = Self.points([0, 100, 200, 300], end: 400).places(in: 150..<300)
        #expect(points.byteCount == 150)
        #expect(points.cuts(count: 2).map(\.byteOffset) == [0, 50])
        #expect(points.cuts(count: 2).map(\.compressedByteOffset) == [33, 66])
    }

    @Test func aMemberFarBehindIsCutEvenlyToo() {
        let points = Self.points((0..<4000).map { $0 << 20 }, end: 4000 << 20).places(in: 3000 << 20..<4000 << 20)
        let cuts = points.cuts(count: 10).map(\.byteOffset)
        #expect(cuts.count == 10)
        #expect(zip(cuts, cuts.dropFirst()).allSatisfy { $1 - $0 <= 102 << 20 }, "\(cuts)")
    }

    /// An empty last block, and numbers that only a forged table has.
    @Test func nothingBeginsAtTheEndAndNothingOverflows() {
        #expect(Self.points([0, 10, 20, 40], end: 40).cuts(count: 8).map(\.byteOffset) == [0, 10, 20])
        let forged = Self.points([0, .max - 4], end: .max, ratio: 8)
        #expect(forged.cuts(count: 2).map(\.byteOffset) == [0, .max - 4])
    }
}
