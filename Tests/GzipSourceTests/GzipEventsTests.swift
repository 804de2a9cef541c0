import BlobStreams
import BlobTestSupport
import Foundation
import GzipSource
import Testing

/// Over an event-driven base no read waits, and an end is one only when the base says so.
@Suite struct GzipEventsTests {
    private let bytes = sampleBytes(60_000)

    private func write(_ bytes: Data, to pipe: BlobPipe) throws {
        let taken = try bytes.withUnsafeBytes { try pipe.tryWrite($0) }
        try #require(taken == bytes.count)
    }

    /// All that can be read without waiting, and what the last read said.
    private func drain(
        _ reader: BlobReader, pieceByteCount: Int = 1000
    ) throws -> (bytes: Data, result: BlobReadResult) {
        var all = Data()
        var piece = [UInt8](repeating: 0, count: pieceByteCount)
        while true {
            var result = BlobReadResult.end
            let count = try piece.withUnsafeMutableBytes { buffer in
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                result = try reader.read(into: &output)
                return output.finalize(for: buffer)
            }
            all += piece.prefix(count)
            guard result == .bytes else { return (all, result) }
        }
    }

    /// Counts the calls of a waker that is registered now.
    private func wakings(of reader: BlobReader) -> Locked<Int> {
        let count = Locked(0)
        reader.whenReadable(BlobWaker { count.withLock { $0 += 1 } })
        return count
    }

    @Test(arguments: GzipSource.Format.allCases)
    func aBaseWithoutBytesForNowIsNoEnd(_ format: GzipSource.Format) throws {
        let file = compressed(self.bytes, format)
        let pipe = BlobPipe(capacity: 1 << 20)
        let source = GzipSource(pipe.source, format: format)
        #expect(source.traits.contains(.neverBlocks))
        let reader = try source.open()
        defer { reader.close() }
        #expect(try self.drain(reader) == (Data(), .notYet))
        var decoded = Data()
        for start in stride(from: 0, to: file.count, by: 997) {
            let wakings = self.wakings(of: reader)
            #expect(wakings.withLock { $0 } == 0)
            try self.write(file.dropFirst(start).prefix(997), to: pipe)
            #expect(wakings.withLock { $0 } == 1)
            let (bytes, result) = try self.drain(reader)
            #expect(result == .notYet && !reader.hasEnded)
            decoded += bytes
        }
        #expect(decoded == self.bytes)
        let wakings = self.wakings(of: reader)
        pipe.finish()
        #expect(wakings.withLock { $0 } == 1 && !reader.hasEnded)
        #expect(try self.drain(reader) == (Data(), .end))
        #expect(reader.hasEnded)
    }

    @Test func bytesThatAreDecodedFromWhatWasFetchedComeWithoutWaiting() throws {
        let pipe = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(pipe.source).open()
        defer { reader.close() }
        // All compressed bytes are fetched by the first read: the rest is up to the decoder.
        try self.write(gzipped(self.bytes), to: pipe)
        #expect(try self.drain(reader) == (self.bytes, .notYet))
    }

    @Test(arguments: [1, 17, 18, 5000, 1 << 20])
    func blocksThatComeInPiecesAreDecodedWithoutWaiting(pieceByteCount: Int) throws {
        let file = blocked(self.bytes + self.bytes)
        let pipe = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(pipe.source).open()
        defer { reader.close() }
        var decoded = Data()
        for start in stride(from: 0, to: file.count, by: pieceByteCount) {
            try self.write(Data(file.dropFirst(start).prefix(pieceByteCount)), to: pipe)
            let (bytes, result) = try self.drain(reader)
            #expect(result == .notYet)
            decoded += bytes
        }
        pipe.finish()
        let (rest, result) = try self.drain(reader)
        #expect(decoded + rest == self.bytes + self.bytes && result == .end)
    }

    @Test func anEncoderOverAPipeSaysNotYetUntilItsEnd() throws {
        let pipe = BlobPipe(capacity: 1 << 20)
        let source = GzipEncodedSource(pipe.source)
        #expect(source.traits.contains(.neverBlocks))
        let reader = try source.open()
        defer { reader.close() }
        var (encoded, result) = try self.drain(reader)
        #expect(result == .notYet)
        for start in stride(from: 0, to: 60_000, by: 7000) {
            let wakings = self.wakings(of: reader)
            try self.write(self.bytes.dropFirst(start).prefix(7000), to: pipe)
            #expect(wakings.withLock { $0 } == 1)
            let (bytes, result) = try self.drain(reader)
            #expect(result == .notYet)
            encoded += bytes
        }
        pipe.finish()
        let (rest, end) = try self.drain(reader)
        #expect(end == .end)
        #expect(try GzipSource(MemorySource(encoded + rest)).data(upTo: 1 << 20) == self.bytes)
    }

    @Test func aProducerThatGoesAwayIsAnErrorAfterTheBytes() throws {
        var pipe: BlobPipe? = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(#require(pipe).source).open()
        defer { reader.close() }
        try self.write(gzipped(self.bytes, level: 0).prefix(30_000), to: #require(pipe))
        pipe = nil
        let found = ReadingOutcome(reader, inPiecesOf: 1 << 20)
        #expect(self.bytes.starts(with: found.bytes) && found.bytes.count > 29_000)
        #expect(found.code == .truncated)
        #expect(self.wakings(of: reader).withLock { $0 } == 1)
    }

    @Test func anEndInTheMiddleIsTruncated() throws {
        let pipe = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(pipe.source).open()
        defer { reader.close() }
        try self.write(gzipped(self.bytes).dropLast(1), to: pipe)
        #expect(try self.drain(reader) == (self.bytes, .notYet))
        let wakings = self.wakings(of: reader)
        pipe.finish()
        #expect(wakings.withLock { $0 } == 1)
        let error = #expect(throws: BlobError.self) { try self.drain(reader) }
        #expect(error?.code == .truncated)
    }
}
