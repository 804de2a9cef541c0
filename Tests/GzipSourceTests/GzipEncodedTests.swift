import BlobStreams
import BlobStreamsTesting
import Foundation
import GzipSource
import Testing

@Suite struct GzipEncodedTests {
    /// Around the size of the buffers, and several of them.
    private static let lengths = [0, 1, 65, 5000, 65_535, 65_536, 65_537, 131_072, 300_000]

    @Test(arguments: 0...9, lengths) func whatIsEncodedIsDecodedAgain(level: Int, length: Int) {
        let bytes = sampleBytes(length)
        let encoded = outcome(of: GzipEncodedSource(MemorySource(bytes), level: level))
        #expect(encoded.isWhole)
        #expect(
            encoded.bytes.prefix(10) == Data([0x1F, 0x8B, 8, 0, 0, 0, 0, 0, level == 9 ? 2 : level < 2 ? 4 : 0, 255]))
        let decoded = outcome(decoding: encoded.bytes)
        #expect(decoded.isWhole)
        #expect(decoded.bytes == bytes)
    }

    @Test func bytesThatDoNotCompressAreEncodedToo() {
        var generator = SystemRandomNumberGenerator()
        let bytes = Data((0..<300_000).map { _ in UInt8.random(in: 0...255, using: &generator) })
        for level in [0, 1, 6] {
            let decoded = outcome(of: GzipSource(GzipEncodedSource(MemorySource(bytes), level: level)))
            #expect(decoded.isWhole && decoded.bytes == bytes)
        }
    }

    @Test(arguments: [0, 1, 6, 9]) func theBytesDoNotDependOnHowTheyAreRead(level: Int) {
        let bytes = sampleBytes(200_001)
        let whole = outcome(of: GzipEncodedSource(MemorySource(bytes), level: level), pieceByteCount: 1 << 20)
        for pieceByteCount in [1, 7, 4096, 65_536] {
            let source = GzipEncodedSource(MemorySource(bytes), level: level)
            #expect(outcome(of: source, pieceByteCount: pieceByteCount).bytes == whole.bytes)
        }
        let bases: [any BlobInputStreamDataSource] = [
            FaultSource(MemorySource(bytes), .oneByte), FaultSource(MemorySource(bytes), .half),
            FaultSource(MemorySource(bytes), .half).readingAhead(),
            ConcatenatedSource([MemorySource(bytes.prefix(65_536)), MemorySource(bytes.dropFirst(65_536))]),
        ]
        for base in bases { #expect(outcome(of: GzipEncodedSource(base, level: level)).bytes == whole.bytes) }
    }

    @Test func itIsTheGzipOfZlib() {
        let bytes = sampleBytes(200_000)
        let encoded = outcome(of: GzipEncodedSource(MemorySource(bytes))).bytes
        #expect(encoded.dropFirst(10) == gzipped(bytes).dropFirst(10))
    }

    @Test func whatIsKnownIsSaid() throws {
        let base = MemorySource(sampleBytes(10), mediaType: "text/plain", name: "a.txt")
        let source = GzipEncodedSource(base)
        let info = try source.info(BlobContext())
        #expect(info.byteCount == nil)
        #expect(info.name == "a.txt.gz")
        #expect(info.mediaType == "application/gzip")
        #expect(info.validator?.isStrong == true)
        #expect(try info.validator != GzipEncodedSource(base, level: 1).info(BlobContext()).validator)
        #expect(source.locator == nil)
        #expect(source.traits == [.neverBlocks, .concurrentReaders, .repeatable])
    }

    @Test func theErrorOfTheBasePassesThrough() {
        let bytes = sampleBytes(100_000)
        for count in [0, 1, 65_536, 99_999] {
            let base = FaultSource(MemorySource(bytes), .fail(at: Int64(count)))
            let result = outcome(of: GzipEncodedSource(base))
            #expect(result.error != nil)
            #expect(result.error?.code == outcome(of: base).error?.code)
        }
    }

    @Test func moreThanFourGibibytesAreEncodedInLittleMemory() throws {
        let byteCount = Int64(UInt32.max) + 5_000_000
        let zeros = ClosureSource(info: BlobInfo(byteCount: byteCount)) { _, output, _ in
            output.append(repeating: 0, count: output.freeCapacity, as: UInt8.self)
        }
        let reader = try GzipSource(GzipEncodedSource(zeros, level: 1)).open()
        defer { reader.close() }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 20, alignment: 64)
        defer { buffer.deallocate() }
        while try reader.readBlocking(into: buffer) > 0 {}
        #expect(reader.byteOffset == byteCount)
    }
}
