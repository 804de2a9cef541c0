import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// Indexes that a disk, a crash or somebody else damaged: right bytes or a typed error, never wrong bytes.
@Suite struct DamagedIndexTests {
    /// As many indexes as these: a hundred thousand take some minutes.
    private static let smallCount = environmentNumber("BLOB_DAMAGED_INDEXES") ?? 400
    private static let largeCount = environmentNumber("BLOB_DAMAGED_LARGE_INDEXES") ?? 10

    /// Some slices are larger than what several threads decode, and most are smaller.
    @Test func damagedIndexesOfSmallSlicesGiveNoWrongByte() throws {
        let tuning = GzipTuning(pointSpacing: 32 * 1024, memberSpacing: 4 * 1024, batchByteCount: 100 * 1024)
        let sizes = [40, 34, 36, 66, 110, 33, 40, 35, 150, 130, 40, 34, 36, 66, 33, 35].map { $0 * 1024 }
        try self.damage(Self.smallCount, sizes, tuning, pageByteCount: 1024)
    }

    @Test func damagedIndexesOfLargeSlicesGiveNoWrongByte() throws {
        let sizes = [1200, 1100, 16_500, 1200, 2100, 17_000, 1100, 1100, 1300].map { $0 * 1024 }
        try self.damage(Self.largeCount, sizes, .standard, pageByteCount: 4096)
    }

    private func damage(_ count: Int, _ sizes: [Int], _ tuning: GzipTuning, pageByteCount: Int) throws {
        let seed = UInt64.random(in: 1...1_000_000)
        var random = SplitMix64(seed: seed)
        let folder = try TemporaryFolder()
        var fixture = try Fixture(folder, sizes, seed: seed, tuning)
        var (rightCount, errorCount, rangeCount, withoutCount) = (0, 0, 0, 0)
        for round in 0..<count {
            // Now and then other data.
            if round % 500 == 499 { fixture = try Fixture(folder, sizes, seed: random.next(), tuning) }
            let damage = try fixture.damage(pageByteCount: pageByteCount, using: &random)
            let isPart = round % 4 == 3
            let offset = isPart ? Int.random(in: 0...fixture.bytes.count, using: &random) : 0
            let source = GzipSource(
                fixture.file, format: .gzip, index: .file(fixture.index.path), library: .isal, tuning: tuning)
            let outcome = outcome(
                of: source, at: Int64(offset), pieceByteCount: Int.random(in: 1000...262_144, using: &random))
            let isRight = outcome.bytes == fixture.bytes.dropFirst(offset)
            #expect(!outcome.isWhole || isRight, "seed \(seed), round \(round), from \(offset): \(damage)")
            rangeCount += isPart ? 1 : 0
            withoutCount += try source.info(BlobContext()).byteCount == nil ? 1 : 0
            rightCount += outcome.isWhole && isRight ? 1 : 0
            errorCount += outcome.isWhole ? 0 : 1
            if let error = outcome.error { Issue.record("seed \(seed), round \(round), \(damage): \(error)") }
        }
        print(
            "\(count) damaged indexes, \(rangeCount) of them for ranges: \(rightCount) right, of which \(withoutCount) "
                + "without the index, \(errorCount) typed errors")
    }
}

/// A gzip with its index.
private struct Fixture {
    let bytes: Data
    let file: FileSource
    let index: BuiltIndex

    init(_ folder: TemporaryFolder, _ sizes: [Int], seed: UInt64, _ tuning: GzipTuning) throws {
        let (bytes, gzip) = FixedBlocks.gzip(sizes, seed: seed)
        self.bytes = bytes
        self.file = try folder.file("data.gz", gzip)
        self.index = try BuiltIndex(self.file, at: folder.path("index"), tuning: tuning)
        precondition(self.index.windowed.count > sizes.count / 2)
    }

    /// Puts a damaged index in the place of the right one; says how.
    func damage(pageByteCount: Int, using random: inout SplitMix64) throws -> String {
        var bytes = self.index.bytes
        let pages = stride(from: 0, to: bytes.count, by: pageByteCount).map {
            $0..<min($0 + pageByteCount, bytes.count)
        }
        let windowed = self.index.windowed
        let description: String
        switch random.next() % 10 {
        case 0:
            let lost = (0..<3).compactMap { _ in pages.randomElement(using: &random) }
            for page in lost { bytes.replaceSubrange(page, with: Data(count: page.count)) }
            description = "zeroed pages \(lost)"
        case 1:
            let (one, other) = (
                Int.random(in: 0..<pages.count, using: &random), Int.random(in: 0..<pages.count, using: &random)
            )
            let (first, second) = (Data(bytes[pages[one]]), Data(bytes[pages[other]]))
            if first.count == second.count {
                bytes.replaceSubrange(pages[one], with: second)
                bytes.replaceSubrange(pages[other], with: first)
            }
            description = "swapped pages \(pages[one]), \(pages[other])"
        case 2:
            bytes = bytes.prefix(Int.random(in: 0..<bytes.count, using: &random))
            description = "cut to \(bytes.count)"
        case 3:
            let start = Int.random(in: 0..<bytes.count, using: &random)
            bytes.replaceSubrange(start..., with: Data(count: bytes.count - start))
            description = "zeros from \(start) on"
        case 4, 5:
            let first = Int.random(in: 0..<max(1, windowed.count - 1), using: &random)
            let lost = windowed[first..<min(first + 2, windowed.count)]
            for point in lost {
                let place = self.index.place(ofWindow: point)
                bytes.replaceSubrange(place, with: Data(count: place.count))
            }
            description = "lost windows \(Array(lost))"
        case 6:
            bytes[Int.random(in: 0..<bytes.count, using: &random)] ^= 1 << UInt8.random(in: 0...7, using: &random)
            description = "a flipped bit"
        case 7: return try self.forgeWindows(using: &random)
        default: return try self.forgePoints(using: &random)
        }
        try bytes.write(to: URL(fileURLWithPath: self.index.path))
        return description
    }

    /// Windows of other points, with checksums that are right.
    private func forgeWindows(using random: inout SplitMix64) throws -> String {
        let windowed = self.index.windowed
        var windows: [Int: [UInt8]] = [:]
        for _ in 0..<Int.random(in: 1...3, using: &random) {
            let (point, other) = (windowed.randomElement(using: &random), windowed.randomElement(using: &random))
            if let point, let other { windows[point] = try self.index.window(of: other) }
        }
        try self.index.forge(windows: windows)
        return "windows of others for \(windows.keys.sorted())"
    }

    /// Points that lie elsewhere.
    private func forgePoints(using random: inout SplitMix64) throws -> String {
        var points = self.index.layout.points.places
        let point = Int.random(in: 1..<points.count, using: &random)
        let distance = Int64.random(in: 1...40, using: &random) * (Bool.random(using: &random) ? 1 : -1)
        let previous = points[point - 1]
        points[point].bitOffset = max(previous.bitOffset + 1, points[point].bitOffset + distance)
        if point + 1 < points.count {
            points[point].bitOffset = min(points[point].bitOffset, points[point + 1].bitOffset - 1)
        }
        try self.index.forge(points: points)
        return "point \(point) by \(distance) bits"
    }
}
