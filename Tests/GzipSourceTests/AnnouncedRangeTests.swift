import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import Foundation
import Testing

@testable import GzipSource

/// What is decoded behind a range whose end is announced: counted in compressed bytes.
@Suite struct AnnouncedRangeTests {
    private static let tuning = GzipTuning(
        pointSpacing: 128 * 1024, memberSpacing: 4 * 1024, batchByteCount: 256 * 1024)

    /// Noise, so that as many compressed bytes are read as are decoded.
    private static let noise = {
        var random = SplitMix64(seed: 7)
        return (0..<(1 << 20)).reduce(into: Data(capacity: 8 << 20)) { bytes, _ in
            withUnsafeBytes(of: random.next()) { bytes.append(contentsOf: $0) }
        }
    }()

    @Test(arguments: [true, false], [700_000, 1_500_000])
    func nothingIsDecodedFarBehindTheEnd(_ isSlice: Bool, _ count: Int) throws {
        let folder = try TemporaryFolder()
        let base = CountedBytes(gzipped(Self.noise, level: 1))
        let index = try BuiltIndex(base.source, at: folder.path("index"), tuning: Self.tuning)
        let source = GzipSource(
            base.source, format: .gzip, index: .file(index.path), library: .isal, tuning: Self.tuning)
        let range = Int64(1_000_000)..<Int64(1_000_000 + count)
        let before = base.readByteCount
        let found: [UInt8]
        if isSlice {
            found = try source.slice(range).open().bytes(atMost: 8 << 20)
        } else {
            source.prepare([0..<10, range], BlobContext())
            found = try source.open(at: range.lowerBound).bytes(atMost: count)
        }
        #expect(found == Array(Self.noise[Int(range.lowerBound)..<Int(range.upperBound)]))
        // The slices in which the range begins and ends, and a batch with the bytes after it that its window shows.
        let most = Int64(count) + 3 * Self.tuning.pointSpacing + Self.tuning.batchByteCount
        #expect(base.readByteCount - before <= most, "\(base.readByteCount - before) bytes for \(count)")
    }

    /// A hint is no limit.
    @Test func readingMayGoOnBehindTheEnd() throws {
        let folder = try TemporaryFolder()
        let base = CountedBytes(gzipped(Self.noise, level: 1))
        let index = try BuiltIndex(base.source, at: folder.path("index"), tuning: Self.tuning)
        let source = GzipSource(
            base.source, format: .gzip, index: .file(index.path), library: .isal, tuning: Self.tuning)
        source.prepare([500_000..<2_000_000], BlobContext())
        let found = try source.open(at: 500_000).bytes(atMost: 8 << 20)
        #expect(found == Array(Self.noise[500_000...]))
        // Behind the end, several threads decode as before.
        let layer = GzipSource.Format.gzip.rawValue
        let content = try #require(try IndexedContent.read(from: base.source, BlobContext()))
        let file = try #require(IndexFile(.file(index.path), for: nil))
        let loaded = try #require(
            try GzipIndex.load(file, layer: layer, content: content, tuning: Self.tuning))
        let opening = IndexedOpening(source: source, baseValidator: nil, context: BlobContext())
        for (start, end) in [(Int64(0), Int64(1000)), (0, 2_000_000), (500_000, 600_000)] {
            let pass = IndexedPass(loaded, opening, at: start, expecting: end)
            defer { pass.close() }
            let bytes = try [UInt8](capacity: Self.noise.count + 1) { output in
                while try pass.read(into: &output) != .end {}
            }
            #expect(bytes == Array(Self.noise[Int(start)...]))
            #expect(pass.batchCount > 10, "\(pass.batchCount) batches from \(start), expecting \(end)")
        }
    }
}
