import BlobDeflate
import BlobIndex
import BlobStreams
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import GzipSource

/// An index says where decoding can begin; that it is right is proven before a byte behind it is delivered.
@Suite struct GzipProofTests {
    /// Short slices around two that are longer than 2 MiB, which one thread decodes alone.
    private static let bytes: Data = {
        let mixed = mixedBytes(3_300_000)
        return mixed + Data(count: 5_000_000) + mixed.reversed() + Data(count: 5_000_000) + mixed
    }()
    private static let gzip = gzipped(bytes)

    @Test func twoLostWindowsCostNoByte() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", Self.gzip)
        let index = try BuiltIndex(file, at: folder.path("index"))
        #expect(index.layout.maximumSliceByteCount > 2 << 20)
        for (first, second) in zip(index.windowed, index.windowed.dropFirst()) {
            try index.write(losing: [first, second].map { index.place(ofWindow: $0) })
            let outcome = outcome(of: GzipSource(file, index: .file(index.path)), pieceByteCount: 262_144)
            #expect(outcome.isWhole && outcome.bytes == Self.bytes, "without the windows \(first) and \(second)")
        }
    }

    /// What is in order takes no detour: every slice is decoded where the index says, by several threads.
    @Test(arguments: InflateLibrary.available, GzipSource.Format.allCases)
    func aWholeIndexIsUsedToItsEnd(library: InflateLibrary, format: GzipSource.Format) throws {
        let folder = try TemporaryFolder()
        var forms = ([0, 1, 6] as [CInt]).map { compressed(Self.bytes, format, level: $0) }
        if format == .gzip {
            forms.append(blocked(Self.bytes))
            forms.append(Self.gzip + gzipped(Self.bytes, level: 1))
        }
        for (number, form) in forms.enumerated() {
            let file = try folder.file("\(number)", form)
            let policy = BlobIndexPolicy.file(folder.path("\(number).index"))
            let source = GzipSource(file, format: format, index: policy, library: library)
            #expect(try source.buildIndex(BlobContext()))
            let content = try #require(try IndexedContent.read(from: file, BlobContext()))
            let indexFile = try #require(IndexFile(policy, for: nil))
            let index = try #require(try GzipIndex.load(indexFile, layer: format.rawValue, content: content))
            for start in [0, number * 900_000] {
                let opening = IndexedOpening(source: source, baseValidator: nil, context: BlobContext())
                let pass = IndexedPass(index, opening, at: Int64(start), expecting: nil)
                defer { pass.close() }
                var (bytes, piece) = (Data(), [UInt8](repeating: 0, count: 262_144))
                repeat {
                    let count = try piece.withUnsafeMutableBytes { piece in
                        var output = OutputRawSpan(buffer: piece, initializedCount: 0)
                        _ = try pass.read(into: &output)
                        return output.finalize(for: piece)
                    }
                    bytes += piece[..<count]
                } while !pass.isAtEnd
                let expected = number == 4 ? Self.bytes + Self.bytes : Self.bytes
                #expect(bytes == expected.dropFirst(start), "form \(number) from \(start)")
                #expect(pass.batchCount > 0 && pass.mayUsePoints, "form \(number) from \(start)")
            }
        }
    }

    /// Behind a restart point the sum of a member is that of all slices together.
    @Test(arguments: [4, 8]) func theTrailerOfEveryMemberIsCompared(distance: Int) throws {
        let folder = try TemporaryFolder()
        let first = gzipped(Self.bytes)
        let memory = ChangeableBytes(first + gzipped(mixedBytes(3_000_000)))
        let policy = BlobIndexPolicy.file(folder.path("index"))
        #expect(try GzipSource(memory.source, index: policy).buildIndex(BlobContext()))
        memory.change { $0[first.count - distance] ^= 1 }
        let outcome = outcome(of: GzipSource(memory.source, index: policy), pieceByteCount: 262_144)
        #expect(outcome.error?.code == (distance == 8 ? .checksumMismatch : .sizeMismatch))
        #expect(outcome.error?.byteOffset == Int64(first.count - distance))
        #expect(outcome.bytes == Self.bytes.prefix(outcome.bytes.count))
    }

    @Test func aForgedWindowIsSeenBeforeAByteBehindIt() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", Self.gzip)
        let index = try BuiltIndex(file, at: folder.path("index"))
        for point in index.windowed {
            let window = try index.window(of: point)
            let forged = window.map { $0 == 0 ? 0 : $0 ^ 0x20 }
            // The sums are those of the bytes that come out with this window.
            var checksums = index.layout.checksums
            try index.forge(windows: [point: forged])
            for segment in try segmentsDecoded(with: index, from: point, window: forged, of: Self.gzip) {
                checksums[segment.index] = segment.sum
            }
            try index.forge(windows: [point: forged], checksums: checksums)
            let source = GzipSource(file, index: .file(index.path))
            let outcome = outcome(of: source, pieceByteCount: 262_144)
            #expect(outcome.isWhole && outcome.bytes == Self.bytes, "point \(point)")
            // Once the whole was read, a range is proven too.
            let place = index.layout.points.slice(point).lowerBound + 100
            let range = try source.open(at: place).bytes(atMost: 50_000)
            #expect(range == Array(Self.bytes[Int(place)...].prefix(50_000)), "point \(point)")
        }
    }

    /// The disk says no: nobody knows whether the index is of use, and slow reading would hide it.
    @Test func anIndexThatCannotBeReadIsAnError() throws {
        let folder = try TemporaryFolder()
        let file = try folder.file("data.gz", Self.gzip)
        let index = try BuiltIndex(file, at: folder.path("index"))
        let source = GzipSource(file, index: .file(index.path))
        #expect(try source.info(BlobContext()).byteCount == Int64(Self.bytes.count))
        // The points are in memory. In the place of the file is now something that cannot be read.
        try replaceDescriptors(of: index.path)
        for start in [0, 8_000_000] {
            let outcome = outcome(of: source, at: Int64(start), pieceByteCount: 262_144)
            #expect(outcome.error?.code == .io)
            #expect(outcome.bytes == Self.bytes.dropFirst(start).prefix(outcome.bytes.count))
        }
    }

    /// The time of the last change of status tells what all others were made to hide.
    @Test func contentThatChangedInPlaceMakesTheIndexStale() throws {
        let folder = try TemporaryFolder()
        // Stored, so that all lengths stay, between members that hold the edges.
        let edge = gzipped(sampleBytes(20_000))
        let contents = [Self.bytes.prefix(3_000_000), Data(Self.bytes.prefix(3_000_000).reversed())]
        let file = try folder.file("data.gz", edge + gzipped(contents[0], level: 0) + edge)
        let policy = BlobIndexPolicy.file(folder.path("index"))
        let source = GzipSource(file, index: policy)
        #expect(try source.buildIndex(BlobContext()))
        let path = folder.path("data.gz")
        var status = stat()
        try #require(stat(path, &status) == 0)
        let changed = edge + gzipped(contents[1], level: 0) + edge
        let handle = try #require(FileHandle(forWritingAtPath: path))
        try handle.write(contentsOf: changed)
        try handle.close()
        try restoreTimes(of: path, status)
        let expected = sampleBytes(20_000) + contents[1] + sampleBytes(20_000)
        for source in [source, GzipSource(file, index: policy)] {
            #expect(try source.info(BlobContext()).byteCount == nil)
            #expect(outcome(of: source, at: 1_500_000, pieceByteCount: 65_536).bytes == expected.dropFirst(1_500_000))
            #expect(outcome(of: source, pieceByteCount: 65_536).bytes == expected)
        }
    }

    /// As on a disk that lies about all of it: the bytes are right nevertheless, and so is the next index.
    @Test(arguments: [0, 2_000_000]) func anIndexThatIsDisprovedIsDropped(start: Int) throws {
        let folder = try TemporaryFolder()
        let edge = gzipped(sampleBytes(20_000))
        let contents = [Self.bytes.prefix(3_000_000), Data(Self.bytes.prefix(3_000_000).reversed())]
        let memory = ChangeableBytes(edge + gzipped(contents[0], level: 0) + edge)
        let policy = BlobIndexPolicy.file(folder.path("index"))
        let source = GzipSource(memory.source, index: policy)
        #expect(try source.buildIndex(BlobContext()))
        memory.change { $0 = edge + gzipped(contents[1], level: 0) + edge }
        let expected = sampleBytes(20_000) + contents[1] + sampleBytes(20_000)
        let outcome = outcome(of: source, at: Int64(start), pieceByteCount: 65_536)
        #expect(outcome.isWhole && outcome.bytes == expected.dropFirst(start))
        #expect(try source.info(BlobContext()).byteCount == nil)
        #expect(try source.buildIndex(BlobContext()))
        #expect(whole(GzipSource(memory.source, index: policy)) == expected)
    }

    /// The segments of the slice behind a point, as they come out with a window.
    private func segmentsDecoded(
        with index: BuiltIndex, from point: Int, window: [UInt8], of compressed: Data
    ) throws -> [(index: Int, sum: UInt32)] {
        var decoder = try FrameDecoder(.gzip)
        let start = index.layout.points[point]
        let first = Int(start.bitOffset / 8)
        window.withUnsafeBytes { decoder.resume(at: start, firstByte: compressed[first], window: $0) }
        let slice = index.layout.points.slice(point)
        var bytes = [UInt8](repeating: 0, count: slice.count)
        try bytes.withUnsafeMutableBytes { bytes in
            var output = OutputRawSpan(buffer: bytes, initializedCount: 0)
            let input = Array(compressed.dropFirst(Int((start.bitOffset + 7) / 8)))
            try input.withUnsafeBytes { input in
                var input = input
                try decoder.decode(&input, into: &output)
            }
            _ = output.finalize(for: bytes)
        }
        let segment = Int(GzipIndexLayout.segmentByteCount)
        let before = (0..<point).reduce(0) { $0 + (index.layout.points.slice($1).count + segment - 1) / segment }
        return stride(from: 0, to: bytes.count, by: segment).map { start in
            var sum = CRC32()
            bytes[start..<min(start + segment, bytes.count)].withUnsafeBytes { sum.update($0) }
            return (before + start / segment, sum.value)
        }
    }
}

/// Puts a descriptor that cannot be read in the place of all that are open on a file.
private func replaceDescriptors(of path: String) throws {
    var file = stat()
    try #require(stat(path, &file) == 0)
    let unreadable = open("/dev/null", O_WRONLY)
    defer { close(unreadable) }
    for descriptor in CInt(3)..<1024 {
        var status = stat()
        guard fstat(descriptor, &status) == 0, status.st_dev == file.st_dev, status.st_ino == file.st_ino else {
            continue
        }
        try #require(dup2(unreadable, descriptor) == descriptor)
    }
}

private func whole(_ source: GzipSource) -> Data { outcome(of: source).bytes }

private func restoreTimes(of path: String, _ status: stat) throws {
    let times = [status.lastUse, status.lastModification]
    try #require(utimensat(AT_FDCWD, path, times, 0) == 0)
}
