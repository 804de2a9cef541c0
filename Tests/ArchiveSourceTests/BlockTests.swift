import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import Testing

@testable import ArchiveSource

/// A source that never blocks, and whose first answer is an error that trying again helps against.
private struct BusySource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    private let wasAsked = Locked(false)

    init(_ base: any BlobInputStreamDataSource) { self.base = base }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        guard self.wasAsked.exchange(true) else { throw BlobError(.unavailable, "The store is busy.") }
        return try self.base.info(context)
    }
}

/// Streams whose blocks are decoded apart from each other; libarchive, which gets the same bytes without random access,
/// is the judge.
@Suite struct BlockTests {
    struct Sample: Sendable, CustomTestStringConvertible {
        let file: String
        let format: CompressionFormat
        /// The file with the decoded bytes, and how often these follow each other.
        var content = "stream"
        var testDescription: String { self.file }

        static let small = [
            Sample(file: "blocks-small.xz", format: .xz), Sample(file: "streams.xz", format: .xz),
            Sample(file: "unchecked.xz", format: .xz), Sample(file: "sha256.xz", format: .xz),
            Sample(file: "frames.zst", format: .zstd), Sample(file: "seekable.zst", format: .zstd),
            Sample(file: "checked-twice.zst", format: .zstd), Sample(file: "streams.bz2", format: .bzip2),
        ]
        /// With one whose damage the judge does not find.
        static let all = small + [Sample(file: "checked-table.zst", format: .zstd)]

        func bytes() async throws -> Data? { try await Made.optional(self.file) }
    }

    /// Expects that damaged data are decoded as far as libarchive decodes them, and fail when they fail there.
    private func expectTheJudgesBytes(of damaged: Data, _ format: CompressionFormat, _ what: String) {
        let outcome = ReadingOutcome(DecompressedSource(MemorySource(damaged), format: format))
        let judged = ReadingOutcome(DecompressedSource(SequentialSource(damaged), format: format))
        #expect((outcome.code == nil) == (judged.code == nil), "\(what)")
        #expect(outcome.bytes.starts(with: judged.bytes), "\(what)")
        if judged.code == nil { #expect(outcome.bytes.count == judged.bytes.count, "\(what)") }
    }

    @Test(arguments: Sample.all)
    func blocksGiveTheBytesOfTheWholeFromEachOffset(_ sample: Sample) async throws {
        guard let bytes = try await sample.bytes() else { return }
        let expected = [UInt8](try await Made.archive(sample.content))
        try await onThread {
            let source = DecompressedSource(MemorySource(bytes), format: sample.format)
            for offset in stride(from: 0, through: expected.count, by: 37) + [expected.count] {
                let outcome = ReadingOutcome(source, at: Int64(offset))
                #expect(outcome.code == nil && outcome.bytes == [UInt8](expected[offset...]), "from \(offset)")
            }
            #expect(ReadingOutcome(source, at: Int64(expected.count) + 1).code == .invalidArgument)
        }
    }

    /// A decoder blocks, so the layer of retry may wait in it, even if a task reads that must not block.
    @Test func theFirstAnswerOfABaseIsTriedAgainWhoeverReads() async throws {
        guard let bytes = try await Made.optional("blocks-small.xz") else { return }
        let base = BusySource(MemorySource(bytes)).layered { $0.retry = .impatient }
        let source = DecompressedSource(base, format: .xz)
        #expect(try await source.data(upTo: 1 << 20) == Made.archive("stream"))
    }

    @Test(arguments: Sample.small.filter { $0.format == .xz })
    func theLengthOfAnXzIsKnownFromItsIndex(_ sample: Sample) async throws {
        guard let bytes = try await sample.bytes() else { return }
        let expected = try await Made.archive(sample.content)
        try await onThread {
            let info = try DecompressedSource(MemorySource(bytes), format: .xz).info()
            #expect(info.byteCount == Int64(expected.count) && info.isRandomAccess)
            let sequential = try DecompressedSource(SequentialSource(bytes), format: .xz).info()
            #expect(sequential.byteCount == nil && !sequential.isRandomAccess)
        }
    }

    @Test func onlyTheBlockAtAnOffsetIsRead() async throws {
        let bytes = try await Made.archive("blocks.xz")
        let content = [UInt8](try await Made.archive("windowed"))
        try await onThread {
            let counted = CountedSource(MemorySource(bytes))
            let source = DecompressedSource(counted, format: .xz)
            _ = try source.info()
            let before = counted.byteCount
            let reader = try source.open(at: 500_000)
            defer { reader.close() }
            let piece = try read(reader, upTo: 100)
            #expect(piece == [UInt8](content[100_000..<100_100]))
            #expect(counted.byteCount - before < Int64(bytes.count) / 2)
        }
    }

    @Test func aReaderGoesOnInTheBlockThatTheLastOneLeft() async throws {
        let bytes = try await Made.archive("blocks.xz")
        let content = [UInt8](try await Made.archive("windowed"))
        try await onThread {
            let counted = CountedSource(MemorySource(bytes))
            let source = DecompressedSource(counted, format: .xz)
            func piece(at offset: Int) throws -> (bytes: [UInt8], readCount: Int64) {
                let before = counted.byteCount
                let reader = try source.open(at: Int64(offset))
                defer { reader.close() }
                return (try read(reader, upTo: 100), counted.byteCount - before)
            }
            let first = try piece(at: 420_000)
            #expect(first.bytes == [UInt8](content[20_000..<20_100]) && first.readCount > 0)
            let behind = try piece(at: 460_000)
            #expect(behind.bytes == [UInt8](content[60_000..<60_100]) && behind.readCount == 0)
            // What lies before is decoded from the beginning of the block.
            let before = try piece(at: 410_000)
            #expect(before.bytes == [UInt8](content[10_000..<10_100]) && before.readCount > 0)
        }
    }

    /// Whatever is cut off or changed, the bytes are those that libarchive gives, and both fail or both do not.
    @Test(arguments: Sample.small)
    func damagedBlocksAreWhatTheJudgeSays(_ sample: Sample) async throws {
        guard let bytes = try await sample.bytes() else { return }
        try await onThread {
            var damaged = (0..<bytes.count).map { ("the first \($0) bytes", bytes.prefix($0)) }
            for place in 0..<bytes.count {
                damaged.append(("byte \(place) changed", bytes.flipping(1 << (place % 8), at: place)))
            }
            for rest in [
                Data(count: 3), Data(count: 4), Data(count: 70_000), Data([1]), Data("a longer rest".utf8), bytes,
            ] {
                damaged.append(("\(rest.count) bytes after the end", bytes + rest))
            }
            for (what, data) in damaged {
                self.expectTheJudgesBytes(of: data, sample.format, what)
            }
        }
    }

    /// Blocks of a hundred thousand bytes: longer ones cost too much to damage each byte.
    @Test(arguments: [
        Sample(file: "many.bz2", format: .bzip2, content: "many"),
        Sample(file: "many.xz", format: .xz, content: "many"),
        Sample(file: "many.zst", format: .zstd, content: "many"),
    ])
    func manyBlocksAreReadInOrderAndDamageInOneIsWhatTheJudgeSays(_ sample: Sample) async throws {
        guard let bytes = try await sample.bytes() else { return }
        let expected = [UInt8](try await Made.archive(sample.content))
        try await onThread {
            let source = DecompressedSource(MemorySource(bytes), format: sample.format)
            // The second pass begins at what the first has learned.
            for offset in [0, 1_234_567, 7, expected.count - 1, 500_000] {
                let outcome = ReadingOutcome(source, at: Int64(offset))
                #expect(outcome.code == nil && outcome.bytes == [UInt8](expected[offset...]), "from \(offset)")
            }
            for place in stride(from: 11, to: bytes.count, by: bytes.count / 11) {
                self.expectTheJudgesBytes(of: bytes.flipping(4, at: place), sample.format, "byte \(place) changed")
            }
        }
    }

    /// The mark of a block within a block is no block: its bytes are found by whoever reads one after another.
    @Test func aFalseMarkInABzip2IsNotBelieved() async throws {
        guard let bytes = try await Made.optional("streams.bz2") else { return }
        try await onThread {
            for place in 14..<(bytes.count - 20) {
                var damaged = bytes
                damaged.replaceSubrange(place..<(place + 6), with: [0x31, 0x41, 0x59, 0x26, 0x53, 0x59])
                self.expectTheJudgesBytes(of: damaged, .bzip2, "a mark at \(place)")
            }
        }
    }

    /// A table that lies gives no other bytes.
    @Test func aWrongSeekTableIsNotBelieved() async throws {
        guard let bytes = try await Made.optional("seekable.zst") else { return }
        let expected = [UInt8](try await Made.archive("stream"))
        try await onThread {
            // Ends of frames in the table, moved by one byte between the two entries: their sums stay the same.
            for places in [[0, 8], [4, 12]] {
                var changed = bytes
                let table = bytes.count - 9 - 16
                changed[table + places[0]] &-= 1
                changed[table + places[1]] &+= 1
                let outcome = ReadingOutcome(DecompressedSource(MemorySource(changed), format: .zstd))
                #expect(outcome.code == nil && outcome.bytes == expected)
            }
        }
    }

    /// Some frames are protected by the checksums in the table alone; others have their own.
    @Test(arguments: [("checked-table.zst", BlobError.Code.checksumMismatch), ("checked-twice.zst", nil)])
    func aWrongChecksumInTheTableIsAnErrorIfTheFrameHasNone(_ file: String, _ code: BlobError.Code?) async throws {
        guard let bytes = try await Made.optional(file) else { return }
        let expected = [UInt8](try await Made.archive("stream"))
        try await onThread {
            // The entries before the footer of 9 bytes have 12 bytes each, of which the last 4 are the checksum.
            for entry in 1...12 {
                var changed = bytes
                changed[bytes.count - 9 - 12 * (entry - 1) - 1] ^= 1
                let outcome = ReadingOutcome(DecompressedSource(MemorySource(changed), format: .zstd))
                #expect(outcome.code == code, "the entry \(entry) from the end")
                #expect(expected.starts(with: outcome.bytes) && (code != nil || outcome.bytes == expected))
            }
        }
    }

    @Test(arguments: Sample.all)
    func blocksKeepTheContract(_ sample: Sample) async throws {
        guard let bytes = try await sample.bytes() else { return }
        let expected = try await Made.archive(sample.content)
        expectNone(
            await violations(of: DecompressedSource(MemorySource(bytes), format: sample.format), expecting: expected))
    }
}
