import BlobTestSupport
import Foundation
import Testing

@testable import BlobCore
@testable import BlobStreams

@Suite struct MemorySourceTests {
    private let bytes = Data("hello".utf8)

    private func readAll(_ source: MemorySource, at offset: Int64 = 0, _ count: Int = 64) throws -> Data {
        try Data(BlobTestSupport.readAll(source.open(at: offset), inPiecesOf: count))
    }

    @Test func aMemorySourceGivesItsBytes() throws {
        let source = MemorySource(Array("hello".utf8))
        #expect(try source.data(upTo: 5) == bytes)
    }

    @Test(arguments: 0...5, [1, 2, 3, 7, 64]) func itOpensAtEachOffset(offset: Int, count: Int) throws {
        #expect(try self.readAll(MemorySource(bytes), at: Int64(offset), count) == bytes.dropFirst(offset))
    }

    @Test func aSliceOfDataIsReadFromItsOwnStart() throws {
        #expect(try self.readAll(MemorySource(bytes[2...])) == Data("llo".utf8))
        #expect(try self.readAll(MemorySource(bytes[2...]), at: 1) == Data("lo".utf8))
    }

    @Test func anOffsetOutsideIsInvalid() {
        #expect(codeThrown { try MemorySource(bytes).open(at: 6) } == .invalidArgument)
        #expect(codeThrown { try MemorySource(bytes).open(at: -1) } == .invalidArgument)
    }

    @Test func itsInfoIsComplete() throws {
        let source = MemorySource(bytes, mediaType: "text/plain", name: "a.txt")
        let info = try source.info()
        #expect(info.byteCount == 5)
        #expect(info.mediaType == "text/plain")
        #expect(info.name == "a.txt")
        #expect(info.validator?.isStrong == true)
        #expect(source.traits == [.neverBlocks, .repeatable, .concurrentReaders])
    }

    @Test func twoSourcesAreNeverTheSame() throws {
        let (source, other) = (MemorySource(bytes), MemorySource(bytes))
        let validator = try #require(source.info().validator)
        try source.open(matching: validator).close()
        #expect(codeThrown { try other.open(matching: validator) } == .changed)
    }

    @Test func aClosedReaderThrowsClosed() throws {
        let reader = try MemorySource(bytes).open()
        reader.close()
        reader.close()
        #expect(codeThrown { try Data(readingAtMost: 1, from: reader) } == .closed)
    }

    @Test func readersAreIndependent() throws {
        let source = MemorySource(bytes)
        let (first, second) = (try source.open(), try source.open(at: 2))
        #expect(try Data(readingAtMost: 1, from: first) == Data("h".utf8))
        #expect(try Data(readingAtMost: 1, from: second) == Data("l".utf8))
        #expect(try Data(readingAtMost: 1, from: first) == Data("e".utf8))
    }
}
