import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// An index that the user named is of its content, wherever that is.
@Suite struct PortableIndexTests {
    private static let bytes = mixedBytes(3_000_000)

    private let folder: TemporaryFolder
    private let compressed: Data
    private let policy: BlobIndexPolicy
    private let index: Data

    init() throws {
        self.folder = try TemporaryFolder()
        // Stored, so that a change of the content leaves all lengths as they are, between members that hold the edges.
        let edge = gzipped(sampleBytes(20_000))
        self.compressed = edge + gzipped(Self.bytes, level: 0) + edge
        self.policy = .file(self.folder.path("index"))
        let file = try self.folder.file("data.gz", self.compressed)
        #expect(try GzipSource(file, index: self.policy).buildIndex(BlobContext()))
        self.index = try Data(contentsOf: URL(fileURLWithPath: self.folder.path("index")))
    }

    private var decoded: Data { sampleBytes(20_000) + Self.bytes + sampleBytes(20_000) }

    private func expectUse(of file: FileSource) throws {
        let source = GzipSource(file, index: self.policy)
        #expect(try source.info(BlobContext()).byteCount == Int64(self.decoded.count))
        let range = try source.open(at: 2_500_000).bytes(atMost: 1000)
        #expect(range == Array(self.decoded[2_500_000..<2_501_000]))
        #expect(outcome(of: source, pieceByteCount: 65_536).bytes == self.decoded)
        #expect(try source.buildIndex(BlobContext()))
        #expect(try Data(contentsOf: URL(fileURLWithPath: self.folder.path("index"))) == self.index)
    }

    @Test func aCopyOnAnotherPathHasTheIndex() throws {
        try self.expectUse(of: try self.folder.file("copy.gz", self.compressed))
    }

    @Test func anotherTimeAndAnotherInodeDoNotMatter() throws {
        let path = self.folder.path("data.gz")
        let then = [timespec(tv_sec: 1_000_000_000, tv_nsec: 0), timespec(tv_sec: 1_000_000_000, tv_nsec: 0)]
        try #require(utimensat(AT_FDCWD, path, then, 0) == 0)
        try self.expectUse(of: FileSource(path: path))
        try FileManager.default.removeItem(atPath: path)
        try self.expectUse(of: try self.folder.file("data.gz", self.compressed))
    }

    @Test func otherContentOfTheSameLengthAndEdgesHasNoIndex() throws {
        let edge = gzipped(sampleBytes(20_000))
        let other = Data(Self.bytes.reversed())
        let file = try self.folder.file("other.gz", edge + gzipped(other, level: 0) + edge)
        let expected = sampleBytes(20_000) + other + sampleBytes(20_000)
        let source = GzipSource(file, index: self.policy)
        #expect(try source.info(BlobContext()).byteCount == nil)
        #expect(outcome(of: source, at: 2_500_000, pieceByteCount: 65_536).bytes == expected.dropFirst(2_500_000))
        #expect(try Data(contentsOf: URL(fileURLWithPath: self.folder.path("index"))) == self.index)
    }

    /// A change that the parts do not show is met by the checksums of the bytes that are read.
    @Test func aChangeBetweenThePartsIsSeenWhereItIsRead() throws {
        // Parts are 90,000 bytes apart, so that at least one of two bytes 45,000 apart is in none.
        for place in [1_000_000, 1_045_000] {
            let changed = self.compressed.flipping(at: place)
            let file = try self.folder.file("changed.gz", changed)
            let whole = outcome(of: GzipSource(file, index: self.policy), pieceByteCount: 65_536)
            #expect(whole.error?.code == .checksumMismatch && self.decoded.starts(with: whole.bytes))
            let range = outcome(
                of: GzipSource(file, index: self.policy).slice(900_000..<1_100_000),
                pieceByteCount: 65_536)
            // Without the index, a range before the trailer is not verified.
            let hasIndex = (try? GzipSource(file, index: self.policy).info(BlobContext()).byteCount) != nil
            if hasIndex { #expect(!range.isWhole) }
        }
        #expect(try Data(contentsOf: URL(fileURLWithPath: self.folder.path("index"))) == self.index)
    }

    /// The folder for caches has many files, and its indexes are bound to one each.
    @Test func anIndexInAFolderIsNotThatOfACopy() throws {
        let policy = BlobIndexPolicy.folder(self.folder.path("indexes"), maximumByteCount: 1 << 20)
        let path = self.folder.path("data.gz")
        #expect(try GzipSource(FileSource(path: path), index: policy).buildIndex(BlobContext()))
        #expect(try GzipSource(FileSource(path: path), index: policy).info(BlobContext()).byteCount != nil)
        try FileManager.default.removeItem(atPath: path)
        let file = try self.folder.file("data.gz", self.compressed)
        #expect(try GzipSource(file, index: policy).info(BlobContext()).byteCount == nil)
    }
}

/// `verifyIndex` finds what is wrong, and changes nothing.
@Suite struct IndexVerificationTests {
    @Test func everyDamagedPointIsNamed() throws {
        let folder = try TemporaryFolder()
        let tuning = GzipTuning(pointSpacing: 32 * 1024, memberSpacing: 4 * 1024, batchByteCount: 100 * 1024)
        let (_, gzip) = FixedBlocks.gzip([Int](repeating: 40_000, count: 12), seed: 13)
        let file = try folder.file("data.gz", gzip)
        let index = try BuiltIndex(file, at: folder.path("index"), tuning: tuning)
        let source = GzipSource(file, format: .gzip, index: .file(index.path), library: .isal, tuning: tuning)
        func faults() throws -> [String] {
            var faults: [String] = []
            let source = GzipSource(file, format: .gzip, index: .file(index.path), library: .isal, tuning: tuning)
            let count = try source.verifyIndex(BlobContext()) { faults.append($0) }
            #expect(count == index.layout.points.count)
            return faults
        }
        try index.write()
        #expect(try faults().isEmpty)
        #expect(try source.info(BlobContext()).byteCount != nil)
        let windowed = index.windowed
        for point in windowed {
            try index.write(losing: [index.place(ofWindow: point)])
            let found = try faults()
            #expect(found.count == 1 && found[0].hasPrefix("Restart point \(point) (bit "), "\(found)")
            // A window of another point, with a checksum that is right.
            let other = try #require(windowed.first { $0 != point })
            try index.write()
            try index.forge(windows: [point: try index.window(of: other)])
            #expect(try faults().map { $0.prefix(20) } == ["Restart point \(point) (bit ".prefix(20)])
        }
        var points = index.layout.points.places
        points[3].bitOffset += 1
        try index.forge(points: points)
        #expect(try faults().count == 1)
        var checksums = index.layout.checksums
        checksums[5] ^= 1
        try index.forge(checksums: checksums)
        let forged = try Data(contentsOf: URL(fileURLWithPath: index.path))
        #expect(try faults().count == 1)
        #expect(try Data(contentsOf: URL(fileURLWithPath: index.path)) == forged)
        // No index of this content, and none that can be read.
        try Data("something".utf8).write(to: URL(fileURLWithPath: index.path))
        #expect(try GzipSource(file, index: .file(index.path)).verifyIndex(BlobContext()) { _ in } == nil)
    }
}
