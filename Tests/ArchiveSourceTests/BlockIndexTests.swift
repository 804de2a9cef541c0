import BlobIndex
import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import FileSource
import Foundation
import Testing

@testable import ArchiveSource
@testable import BlobBlocks

/// Indexes of the blocks of data that do not list them.
@Suite struct BlockIndexTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let file: String
        let format: CompressionFormat
        let content: String
        var testDescription: String { self.file }

        static let many = [
            Sample(file: "many.bz2", format: .bzip2, content: "many"),
            Sample(file: "many.zst", format: .zstd, content: "many"),
        ]
        static let small = [
            Sample(file: "streams.bz2", format: .bzip2, content: "stream"),
            Sample(file: "frames.zst", format: .zstd, content: "stream"),
        ]
    }

    /// Compressed data in a file, and the place of their index.
    private struct Files {
        let folder: TemporaryFolder
        let base: FileSource
        let format: CompressionFormat
        let content: [UInt8]
        let path: String

        init?(_ sample: Sample) async throws {
            guard let bytes = try await Made.optional(sample.file) else { return nil }
            self.folder = try TemporaryFolder()
            try self.folder.write([UInt8](bytes), to: "data")
            self.base = FileSource(path: self.folder.path("data"))
            self.format = sample.format
            self.content = [UInt8](try await Made.archive(sample.content))
            self.path = self.folder.path("index")
        }

        /// A new source, as another process would have it.
        func source(_ base: (any BlobInputStreamDataSource)? = nil) -> DecompressedSource {
            DecompressedSource(base ?? self.base, format: self.format, index: .file(self.path))
        }

        func index() throws -> Data { try Data(contentsOf: URL(fileURLWithPath: self.path)) }
        func setIndex(_ bytes: Data) throws { try bytes.write(to: URL(fileURLWithPath: self.path)) }

        typealias Change =
            @Sendable (_ places: inout [RestartPoint], _ sums: inout [UInt32], _ byteCount: inout Int64)
            -> Void

        /// Writes an index whose checksums are all right, changed by `change`.
        func forge(_ change: Change) throws {
            let content = try #require(try IndexedContent.read(from: self.base, BlobContext()))
            let file = try #require(IndexFile(.file(self.path), for: nil))
            let layer = try #require(file.sections().first { $0.key.kind.description == "BLKS" }).key.layer
            let index = try #require(try BlockIndex.load(file, layer: layer, content: content))
            var (places, sums, byteCount) = (index.points.places, index.checksums, index.byteCount)
            change(&places, &sums, &byteCount)
            let points = RestartPoints(
                places, compressedByteCount: index.points.compressedByteCount, byteCount: byteCount)
            let forged = BlockIndex(points, checksums: sums)
            try file.write(forged.sections(layer: layer).sections, for: content)
        }
    }

    /// Numbers that are checked before they are used: fewer compressed bytes than a block has, and sums past 64 bits.
    @Test func anIndexWithSizesThatNoContentHasIsDamaged() throws {
        let places = [0, 1].map { RestartPoint(bitOffset: $0, byteOffset: 9 * $0) }
        func encoded(_ compressedByteCount: Int64, _ byteCount: Int64) -> [UInt8] {
            let points = RestartPoints(places, compressedByteCount: compressedByteCount, byteCount: byteCount)
            return BlockIndex(points, checksums: [0, 0]).encoded
        }
        for byteCount in Array(0...15) + [.max / 8 + 1, .max] as [Int64] {
            #expect(throws: BlobError.self, "\(byteCount)") { try BlockIndex(decoding: encoded(byteCount, 18)) }
        }
        for byteCount in [.max / 8 + 1, .max] as [Int64] {
            #expect(throws: BlobError.self, "\(byteCount)") { try BlockIndex(decoding: encoded(1000, byteCount)) }
        }
        #expect(try BlockIndex(decoding: encoded(16, 18)).points.places == places)
    }

    /// The bytes from an offset on, and the error that ends them.
    private func outcome(_ source: DecompressedSource, at offset: Int) -> ReadingOutcome {
        ReadingOutcome(source, at: Int64(offset))
    }

    @Test(arguments: Sample.many)
    func theNextProcessStartsAtTheBlock(_ sample: Sample) async throws {
        guard let files = try await Files(sample) else { return }
        try await onThread { () throws in
            #expect(try files.source().info().byteCount == nil)
            #expect(try files.source().buildIndex(BlobContext()))
            let base = CountedSource(files.base)
            let source = files.source(base)
            #expect(try source.info().byteCount == Int64(files.content.count))
            #expect(try source.info().isRandomAccess)
            let reader = try source.open(at: Int64(files.content.count) - 150_000)
            defer { reader.close() }
            let expected = Array(files.content.dropFirst(files.content.count - 150_000).prefix(10))
            #expect(try read(reader, upTo: 10) == expected)
            #expect(base.byteCount < 400_000 && base.byteCount < Int64(files.content.count) / 3)
            for offset in [0, 1, 99_999, 700_000, 1_234_567, files.content.count - 1, files.content.count] {
                let outcome = self.outcome(files.source(), at: offset)
                #expect(outcome.code == nil && outcome.bytes == Array(files.content[offset...]), "from \(offset)")
            }
            #expect(self.outcome(files.source(), at: files.content.count + 1).code == .invalidArgument)
        }
    }

    @Test(arguments: Sample.many + Sample.small)
    func aReadOfTheWholeLeavesAnIndexThatIsRight(_ sample: Sample) async throws {
        guard let files = try await Files(sample) else { return }
        try await onThread { () throws in
            #expect(self.outcome(files.source(), at: 0).bytes == files.content)
            let index = try files.index()
            #expect(try files.source().info().byteCount == Int64(files.content.count))
            #expect(try files.source().verifyIndex(BlobContext()) { Issue.record("\($0)") } ?? 0 > 1)
            // Requested, it is there already.
            #expect(try files.source().buildIndex(BlobContext()))
            #expect(try files.index() == index)
        }
    }

    @Test(arguments: Sample.small)
    func sourcesWithAnIndexKeepEveryContract(_ sample: Sample) async throws {
        guard let files = try await Files(sample) else { return }
        #expect(try await onThread { try files.source().buildIndex(BlobContext()) })
        expectNone(await violations(of: files.source(), expecting: Data(files.content)))
    }

    /// Whatever part of the index file is damaged or missing, the bytes are right.
    @Test(arguments: Sample.small)
    func aDamagedIndexCountsAsMissing(_ sample: Sample) async throws {
        guard let files = try await Files(sample) else { return }
        let offset = files.content.count - 100
        let expected = Array(files.content[offset...])
        try await onThread { () throws in
            #expect(try files.source().buildIndex(BlobContext()))
            let index = try files.index()
            for place in index.indices {
                let damaged = index.flipping(1 << UInt8(place % 8), at: place)
                for bytes in [damaged, index.prefix(place)] {
                    try files.setIndex(bytes)
                    let outcome = self.outcome(files.source(), at: offset)
                    #expect(outcome.code == nil && outcome.bytes == expected, "byte \(place)")
                }
            }
        }
    }

    /// An index of other content, for which the checksums of its file are right.
    @Test(arguments: Sample.many)
    func aBlockThatIsNotAsTheIndexSaysIsNotDelivered(_ sample: Sample) async throws {
        guard let files = try await Files(sample) else { return }
        let offset = files.content.count - 150_000
        let expected = Array(files.content[offset...])
        let changes: [Files.Change] = [
            { places, sums, _ in for number in places.indices { sums[number] ^= 1 } },
            { places, _, _ in for number in places.indices.dropFirst() { places[number].bitOffset += 8 } },
            { places, _, _ in for number in places.indices.dropFirst() { places[number].bitOffset -= 1 } },
            // Lengths, of which no two are the same.
            { places, _, _ in
                for number in places.indices.dropFirst() { places[number].byteOffset -= Int64(number) }
            },
            { places, _, _ in for number in places.indices { places[number].detail ^= 0xFFFF } },
        ]
        try await onThread { () throws in
            for (number, change) in changes.enumerated() {
                #expect(try files.source().buildIndex(BlobContext()))
                try files.forge(change)
                let outcome = self.outcome(files.source(), at: offset)
                #expect(outcome.code == nil && outcome.bytes == expected, "change \(number)")
                #expect(self.outcome(files.source(), at: 0).bytes == files.content, "change \(number)")
                var faults = 0
                _ = try files.source().verifyIndex(BlobContext()) { _ in faults += 1 }
                #expect(faults > 0, "change \(number)")
                try FileManager.default.removeItem(atPath: files.path)
            }
        }
    }

    @Test(arguments: Sample.small)
    func anotherLengthIsAChange(_ sample: Sample) async throws {
        guard let files = try await Files(sample) else { return }
        try await onThread { () throws in
            for difference in [-1, 1, 1000] as [Int64] {
                #expect(try files.source().buildIndex(BlobContext()))
                try files.forge { _, _, byteCount in byteCount += difference }
                let source = files.source()
                let end = files.content.count + Int(difference)
                #expect(self.outcome(files.source(), at: end).code == .changed)
                let outcome = self.outcome(source, at: 0)
                #expect(outcome.code == .changed && files.content.starts(with: outcome.bytes))
                // It is not used any more.
                #expect(self.outcome(source, at: 0).bytes == files.content)
                try FileManager.default.removeItem(atPath: files.path)
            }
        }
    }

    /// A block over 8 MiB is delivered before all of it is verified: then nothing else may continue it.
    @Test func aLongBlockThatIsNotAsTheIndexSaysEndsTheRead() async throws {
        let sample = Sample(file: "long.bz2", format: .bzip2, content: "many")
        guard let files = try await Files(sample) else { return }
        let content = Array(files.content[..<200_000]) + [UInt8](repeating: 0, count: 20_000_000)
        try await onThread { () throws in
            #expect(try files.source().buildIndex(BlobContext()))
            #expect(self.outcome(files.source(), at: 15_000_000).bytes.starts(with: content[15_000_000...]))
            try files.forge { _, sums, _ in sums[1] ^= 1 }
            let outcome = self.outcome(files.source(), at: 15_000_000)
            #expect(outcome.code == .checksumMismatch)
            #expect(content[15_000_000...].starts(with: outcome.bytes))
        }
    }

    @Test func dataOfOneBlockOrWithATableHaveNoIndex() async throws {
        for (file, format) in [("stream.bz2", CompressionFormat.bzip2), ("stream.xz", .xz), ("blocks-small.xz", .xz)] {
            guard let files = try await Files(Sample(file: file, format: format, content: "stream")) else { continue }
            try await onThread { () throws in
                #expect(try !files.source().buildIndex(BlobContext()), "\(file)")
                #expect(!FileManager.default.fileExists(atPath: files.path))
            }
        }
    }

    /// Bytes that no recording wrote are refused before they take memory.
    @Test func theDecodingOfAnIndexRefusesWhatIsNone() throws {
        let places = (0..<5).map { (number: Int64) in
            RestartPoint(bitOffset: 1000 * number, byteOffset: 100 * number, detail: UInt64(number) << 30)
        }
        let bytes = BlockIndex(
            RestartPoints(places, compressedByteCount: 1000, byteCount: 500), checksums: [0, 1, 2, 3, 4]
        ).encoded
        let decoded = try BlockIndex(decoding: bytes)
        #expect(decoded.points.places == places && decoded.checksums == [0, 1, 2, 3, 4])
        for count in bytes.indices {
            #expect(throws: BlobError.self) { try BlockIndex(decoding: Array(bytes.prefix(count))) }
            for bit in 0..<8 {
                let changed = bytes.flipping(1 << UInt8(bit), at: count)
                guard let index = try? BlockIndex(decoding: changed) else { continue }
                #expect(index.encoded == changed)
            }
        }
        for count in [1 << 60, UInt64(Int64.max), .max] {
            var writer = IndexWriter()
            for number in [1, 1 << 50, 1 << 50, count] { writer.append(varint: number) }
            #expect(throws: BlobError.self) { try BlockIndex(decoding: writer.bytes) }
        }
    }
}
