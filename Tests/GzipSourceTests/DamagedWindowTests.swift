import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// What reading costs when windows of an index are damaged: counted in compressed bytes, each of which is decoded when
/// it is read.
@Suite struct DamagedWindowTests {
    private static let tuning = GzipTuning(pointSpacing: 32 * 1024, memberSpacing: 4 * 1024, batchByteCount: 100 * 1024)

    private let folder: TemporaryFolder
    private let bytes: Data
    private let base: CountedBytes
    private let index: BuiltIndex

    init() throws {
        self.folder = try TemporaryFolder()
        // 180 slices of 40,000 bytes, with references to all of the 32 KiB before.
        let (bytes, gzip) = FixedBlocks.gzip([Int](repeating: 40_000, count: 180), seed: 13)
        self.bytes = bytes
        self.base = CountedBytes(gzip)
        self.index = try BuiltIndex(self.base.source, at: self.folder.path("index"), tuning: Self.tuning)
        precondition(self.index.windowed.count > 150)
    }

    private func source(_ policy: BlobIndexPolicy) -> GzipSource {
        GzipSource(self.base.source, format: .gzip, index: policy, library: .isal, tuning: Self.tuning)
    }

    /// What was decoded ahead of a damaged window is decoded once more, and the rest in one pass.
    @Test func theWholeIsDecodedOnceHoweverManyWindowsAreDamaged() throws {
        // Noise, so that as many compressed bytes are read as are decoded, and buffers of them are small beside
        // batches.
        let tuning = GzipTuning(pointSpacing: 128 * 1024, memberSpacing: 4 * 1024, batchByteCount: 512 * 1024)
        var random = SplitMix64(seed: 13)
        let bytes = (0..<(4 << 20)).reduce(into: Data(capacity: 32 << 20)) { bytes, _ in
            withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
        }
        let base = CountedBytes(gzipped(bytes, level: 1))
        let index = try BuiltIndex(base.source, at: self.folder.path("noise"), tuning: tuning)
        let windowed = index.windowed
        try #require(windowed.count > 150)
        let cases: [(Int) -> Bool] =
            [{ _ in true }, { $0 % 2 == 0 }, { $0 % 2 == 1 }, { _ in false }]
            + [0, 1, 20, 80, 140].map { one in { $0 == windowed[one] } }
        for (number, isDamaged) in cases.enumerated() {
            try index.write(losing: windowed.filter(isDamaged).map { index.place(ofWindow: $0) })
            let before = base.readByteCount
            let source = GzipSource(
                base.source, format: .gzip, index: .file(index.path), library: .isal, tuning: tuning)
            let outcome = outcome(of: source, pieceByteCount: 262_144)
            #expect(outcome.isWhole && outcome.bytes == bytes, "case \(number)")
            let ratio = Double(base.readByteCount - before) / Double(base.byteCount)
            #expect(ratio < 1.3, "case \(number)")
        }
    }

    /// A reader learns the windows of the points that it passes, so that the next one begins near its range.
    @Test func manyRangesTogetherDecodeTheWholeOnceMore() throws {
        try self.index.write(losing: self.index.windowed.map { self.index.place(ofWindow: $0) })
        let source = self.source(.file(self.index.path))
        var random = SplitMix64(seed: 13)
        let offsets = [self.bytes.count - 1000] + (0..<200).map { _ in Int.random(in: 0..<bytes.count, using: &random) }
        let before = self.base.readByteCount
        for offset in offsets {
            let found = try source.open(at: Int64(offset)).bytes(atMost: 1000)
            #expect(found == Array(self.bytes.dropFirst(offset).prefix(1000)), "at \(offset)")
        }
        // Each range reads a buffer of 64 KiB of the compressed data.
        let most = Int64(self.base.byteCount) + Int64(offsets.count) * Int64(DecodingPass.inputByteCount + 1)
        #expect(self.base.readByteCount - before <= most)
    }

    @Test func learnedWindowsAreBoundedInNumber() {
        var learned = RecoveredWindows()
        learned.maximumCount = 8
        for slice in 1...100 where learned.wants(slice) { learned.insert([UInt8(slice)], of: slice) }
        #expect(learned.windows.count <= 8)
        #expect(learned.windows[96] == [96] && learned.windows[99] == nil)
        #expect(learned.wants(112) && !learned.wants(113) && !learned.wants(96))
    }

    /// 50 MB of points for a gzip of 200 bytes took 450 MB.
    @Test func aTableOfMorePointsThanTheGzipCanHoldIsRefused() throws {
        let bytes = Data(count: 1_000_000)
        let base = CountedBytes(gzipped(bytes))
        let index = try BuiltIndex(base.source, at: self.folder.path("forged"))
        let count = 500_000
        let points = (0..<count).map { RestartPoint(bitOffset: Int64($0) * 8, byteOffset: Int64($0)) }
        try index.forge(points: points, checksums: [UInt32](repeating: 0, count: count))
        let content = try #require(try IndexedContent.read(from: base.source, BlobContext()))
        let file = try #require(IndexFile(.file(index.path), for: nil))
        let maximum = GzipIndexLayout.maximumEncodedByteCount(
            compressedByteCount: Int64(base.byteCount), spacing: GzipTuning.standard.minimumSpacing)
        #expect(try file.section(.points("gzip"), for: content) != nil)
        #expect(try file.section(.points("gzip"), for: content, atMost: maximum) == nil)
        #expect(try GzipIndex.load(file, layer: "gzip", content: content) == nil)
        let outcome = outcome(of: GzipSource(base.source, index: .file(index.path)))
        #expect(outcome.isWhole && outcome.bytes == bytes)
    }

    /// Numbers in a section that is short itself.
    @Test func aCountOfPointsBeyondTheDecodedLengthIsRefusedBeforeMemoryIsTaken() {
        func code(_ compressed: UInt64, _ decoded: UInt64, _ points: UInt64) -> BlobError.Code? {
            var writer = IndexWriter()
            for number in [1, compressed, decoded, 1, points] { writer.append(varint: number) }
            writer.append([UInt8](repeating: 0, count: 100))
            return codeThrown { _ = try GzipIndexLayout(decoding: writer.bytes, spacing: 128 * 1024) }
        }
        #expect(code(1 << 20, 1 << 30, 8194) == .corrupted)
        // 1032 decoded bytes for each compressed one.
        #expect(code(100, 1033 * 100, 1) == .corrupted)
        #expect(code(1 << 50, 1 << 58, 1 << 27) == .corrupted)
    }
}
