import BlobStreams
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

    /// All that can be read without waiting.
    private func drain(_ reader: BlobGuardedReader, pieceByteCount: Int = 1000) throws -> Data {
        var all = Data()
        var piece = [UInt8](repeating: 0, count: pieceByteCount)
        while case let count = try piece.withUnsafeMutableBytes({ try reader.read(into: $0) }), count > 0 {
            all.append(contentsOf: piece.prefix(count))
        }
        return all
    }

    @Test(arguments: GzipSource.Format.allCases)
    func aBaseWithoutBytesForNowIsNoEnd(_ format: GzipSource.Format) throws {
        let file = compressed(self.bytes, format)
        let pipe = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(pipe.source, format: format).pollableReader()
        defer { reader.close() }
        let readiness = try #require(reader.readiness)
        var decoded = try self.drain(reader)
        #expect(decoded.isEmpty && !reader.hasEnded && !readiness.value.isReady)
        for start in stride(from: 0, to: file.count, by: 997) {
            try self.write(file.dropFirst(start).prefix(997), to: pipe)
            #expect(readiness.value.hasBytesAvailable)
            decoded += try self.drain(reader)
            #expect(!reader.hasEnded && !readiness.value.isReady)
        }
        #expect(decoded == self.bytes)
        pipe.finish()
        #expect(readiness.value.hasBytesAvailable && !readiness.value.isAtEnd)
        #expect(try self.drain(reader).isEmpty)
        #expect(reader.hasEnded && readiness.value.isAtEnd)
    }

    @Test func bytesThatAreDecodedFromWhatWasFetchedAreAvailable() throws {
        let pipe = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(pipe.source).pollableReader()
        defer { reader.close() }
        let readiness = try #require(reader.readiness)
        try self.write(gzipped(self.bytes), to: pipe)
        var piece = [UInt8](repeating: 0, count: 1000)
        var count = 0
        while count < 60_000 {
            // All compressed bytes were fetched by the first read: the rest is up to the decoder.
            #expect(readiness.value.hasBytesAvailable)
            count += try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
        }
        _ = try self.drain(reader)
        #expect(!readiness.value.isReady)
    }

    @Test func aProducerThatGoesAwayIsAnErrorAfterTheBytes() throws {
        var pipe: BlobPipe? = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(#require(pipe).source).pollableReader()
        defer { reader.close() }
        try self.write(gzipped(self.bytes, level: 0).prefix(30_000), to: #require(pipe))
        pipe = nil
        var piece = [UInt8](repeating: 0, count: 1 << 20)
        let count = try piece.withUnsafeMutableBytes { try reader.read(into: $0) }
        #expect(Data(piece.prefix(count)) == self.bytes.prefix(count) && count > 29_000)
        let error = #expect(throws: BlobError.self) { try self.drain(reader) }
        #expect(error?.code == .truncated)
        #expect(reader.readiness?.value.error?.code == .truncated)
    }

    @Test func anEndInTheMiddleIsTruncated() throws {
        let pipe = BlobPipe(capacity: 1 << 20)
        let reader = try GzipSource(pipe.source).pollableReader()
        defer { reader.close() }
        try self.write(gzipped(self.bytes).dropLast(1), to: pipe)
        #expect(try self.drain(reader) == self.bytes)
        pipe.finish()
        let error = #expect(throws: BlobError.self) { try self.drain(reader) }
        #expect(error?.code == .truncated && reader.readiness?.value.error?.code == .truncated)
    }
}
