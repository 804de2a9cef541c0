import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// What a source reads, and what it asks the server for.
@Suite struct ReadingTests {
    @Test func theFirstAnswerTellsTheFacts() throws {
        let server = try ObjectServer(makeContent(1000))
        server.object.type = "image/jpeg; charset=binary"
        let source = try HTTPSource(server.url)
        let info = try source.info()
        #expect(
            info
                == BlobInfo(
                    byteCount: 1000, mediaType: "image/jpeg", name: "object.bin", validator: .strong("\"one\""),
                    isRandomAccess: true))
        #expect(try readAll(source.open()) == makeContent(1000))
        #expect(server.requests.count == 1)
    }

    /// Servers mark the tag of a file that was just written as weak, and soon remove the mark.
    @Test func aTagThatBecomesStrongIsTheSame() throws {
        let bytes = makeContent(3 << 20)
        let server = try ObjectServer(bytes)
        server.object.tag = "W/\"one\""
        let source = try HTTPSource(server.url)
        let reader = try source.open()
        var found = try read(reader, upTo: 100)
        server.object.tag = "\"one\""
        found += try readAll(reader)
        #expect(found == bytes && server.requests.count > 1)
        // The same tag with another date is another version.
        let dated = try ObjectServer(bytes)
        (dated.object.tag, dated.object.date) = ("W/\"one\"", "Mon, 02 Mar 2026 10:00:00 GMT")
        let second = try HTTPSource(dated.url).open()
        _ = try read(second, upTo: 100)
        (dated.object.tag, dated.object.date) = ("\"one\"", "Mon, 02 Mar 2026 10:00:01 GMT")
        #expect(codeThrown { try readAll(second) } == .changed)
        server.object.tag = "\"two\""
        #expect(codeThrown { try readAll(source.open(at: 1 << 20, matching: source.info().validator)) } == .changed)
    }

    /// Past the first window, the buffer of a body, and the window that is read at once.
    @Test(arguments: [0, 1, 65_535, 65_536, 65_537, 131_072, 1 << 20, 3 << 20])
    func aWholeObjectIsReadWithAtMostTwoRequests(byteCount: Int) throws {
        let bytes = makeContent(byteCount)
        let server = try ObjectServer(bytes)
        let reader = try HTTPSource(server.url).open()
        #expect(try readAll(reader) == bytes)
        #expect(server.requests.count <= 2)
        #expect(server.sentByteCount == byteCount)
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: [1, 65_535, 65_536, 200_000, 299_999, 300_000])
    func anOffsetIsReachedByARange(offset: Int) throws {
        let bytes = makeContent(300_000)
        let server = try ObjectServer(bytes)
        let reader = try HTTPSource(server.url).open(at: Int64(offset))
        #expect(try readAll(reader) == Array(bytes[offset...]))
        #expect(server.sentByteCount <= 300_000 - offset + 65_536)
        #expect(server.requests.count <= 2)
    }

    @Test(arguments: [false, true]) func withoutRangesAnOffsetIsReachedByReading(isChunked: Bool) throws {
        let bytes = makeContent(2_000_000)
        let server = try ObjectServer(bytes)
        server.object.hasRanges = false
        server.object.isChunked = isChunked
        let source = try HTTPSource(server.url)
        let info = try source.info()
        #expect(info.byteCount == (isChunked ? nil : 2_000_000))
        #expect(!info.isRandomAccess)
        #expect(try readAll(source.open()) == bytes)
        // The answer that told the facts is also the one that is read.
        #expect(server.requests.count == 1)
        #expect(try readAll(source.open(at: 1_999_000)) == Array(bytes[1_999_000...]))
        #expect(codeThrown { try readAll(source.open(at: 2_000_001)) } == .invalidArgument)
    }

    @Test func readersThatStopReadingStopTheServer() throws {
        let server = try ObjectServer(makeContent(64 << 20))
        server.object.hasRanges = false
        let reader = try HTTPSource(server.url).open()
        #expect(try read(reader).count > 0)
        // The window, and what the systems hold; a server that is not stopped has sent everything by then.
        let other = try ObjectServer(makeContent(8 << 20))
        #expect(try readAll(HTTPSource(other.url).open()).count == 8 << 20)
        #expect(server.sentByteCount < 32 << 20)
        reader.close()
    }

    /// Small random reads ask for windows, each with one request; a second connection is for one whose rest still
    /// comes.
    @Test func randomReadsCostOneRequestEach() throws {
        let bytes = makeContent(8 << 20)
        let server = try ObjectServer(bytes)
        let source = try HTTPSource(server.url)
        var generator = SplitMix64(seed: 14)
        for _ in 0..<50 {
            let offset = Int.random(in: 0..<(7 << 20), using: &generator)
            let reader = try source.open(at: Int64(offset))
            var found: [UInt8] = []
            while found.count < 65_536 { found += try read(reader, upTo: 65_536 - found.count) }
            reader.close()
            #expect(found == Array(bytes[offset..<(offset + 65_536)]))
        }
        #expect(server.requests.count <= 50)
        #expect(server.connectionCount <= 3)
        #expect(server.sentByteCount <= 50 * 3 * 65_536)
    }

    @Test func readersShareWhatWasRead() throws {
        let server = try ObjectServer(makeContent(60_000))
        let source = try HTTPSource(server.url)
        for offset in [0, 1, 59_999, 30_000] {
            #expect(try readAll(source.open(at: Int64(offset))) == Array(makeContent(60_000)[offset...]))
        }
        #expect(server.requests.count == 1)
    }

    @Test(arguments: [0, 1, 65, 5000, 70_000, 200_000]) func aSourceKeepsEveryContract(length: Int) async throws {
        let bytes = Data(makeContent(length))
        let server = try ObjectServer(Array(bytes))
        let url = server.url
        let all = await violations(of: try HTTPSource(url), expecting: bytes)
        #expect(all.isEmpty, "\(all)")
        let waiting = await violations(of: try HTTPSource(url).readingAhead(), expecting: bytes)
        #expect(waiting.isEmpty, "\(waiting)")
    }

    @Test(arguments: [0, 1, 5000, 200_000, 1_200_000], [false, true])
    func aSourceWithoutRangesKeepsEveryContract(length: Int, isChunked: Bool) async throws {
        let bytes = Data(makeContent(length))
        let server = try ObjectServer(Array(bytes))
        server.object.hasRanges = false
        server.object.isChunked = isChunked
        server.object.tag = "W/\"weak\""
        let url = server.url
        let all = await violations(of: try HTTPSource(url), expecting: bytes)
        #expect(all.isEmpty, "\(all)")
    }
}
