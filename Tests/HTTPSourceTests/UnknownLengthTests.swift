import BlobStreamsStandard
import BlobStreamsTesting
import BlobTestSupport
import Foundation
import HTTPTestSupport
import Testing

/// Ranges of objects whose length the server does not tell (RFC 9110, section 14.4): the end is where the server
/// refuses the next range.
@Suite struct UnknownLengthTests {
    /// A server of an object whose length is not told with ranges, in answers of at most so many bytes.
    private static func server(
        _ bytes: [UInt8], pieces: Int = .max, tellsLengthAtEnd: Bool = false
    ) throws -> ObjectServer {
        let server = try ObjectServer(bytes)
        (server.object.pieceByteCount, server.object.tellsLength) = (pieces, false)
        server.object.tellsLengthAtEnd = tellsLengthAtEnd
        return server
    }

    /// Lengths around those of windows, in answers that are as long as asked for, and in shorter ones.
    @Test(
        arguments: [0, 1, 1000, 65_535, 65_536, 65_537, 131_072, 300_000, 1_200_000], [Int.max, 70_000, 65_536, 50_000])
    func theEndIsWhereTheServerHasNoMore(byteCount: Int, pieces: Int) throws {
        let bytes = makeContent(byteCount)
        for tellsLengthAtEnd in [false, true] {
            let server = try Self.server(bytes, pieces: pieces, tellsLengthAtEnd: tellsLengthAtEnd)
            let source = try HTTPSource(server.url)
            let info = try source.info()
            #expect(info.byteCount == (byteCount == 0 ? 0 : nil) && (byteCount == 0 || info.isRandomAccess))
            #expect(try readAll(source.open()) == bytes)
            #expect(try readAll(source.open(at: Int64(byteCount))).isEmpty)
            for offset in [byteCount / 2, byteCount - 1] where offset > 0 {
                #expect(try readAll(source.open(at: Int64(offset))) == Array(bytes[offset...]))
                #expect(try readAll(HTTPSource(server.url).open(at: Int64(offset))) == Array(bytes[offset...]))
            }
        }
    }

    @Test(arguments: [false, true]) func anOffsetPastTheEndIsInvalid(tellsLengthAtEnd: Bool) throws {
        for offset in [1001, 65_535, 65_536, 65_537, 200_000, 1 << 40] as [Int64] {
            let server = try Self.server(makeContent(1000), tellsLengthAtEnd: tellsLengthAtEnd)
            let source = try HTTPSource(server.url)
            #expect(codeThrown { try readAll(source.open(at: offset)) } == .invalidArgument, "\(offset)")
            #expect(codeThrown { try readAll(source.open(at: offset)) } == .invalidArgument, "\(offset)")
            #expect(try readAll(source.open(at: 1000)).isEmpty)
        }
        // The last byte of a window is there, and the next one is not.
        let server = try Self.server(makeContent(131_072), tellsLengthAtEnd: tellsLengthAtEnd)
        for _ in 0..<2 { #expect(try readAll(HTTPSource(server.url).open(at: 131_072)).isEmpty) }
        #expect(codeThrown { try readAll(HTTPSource(server.url).open(at: 131_073)) } == .invalidArgument)
    }

    @Test(arguments: [0, 1, 5000, 70_000, 200_000], [Int.max, 40_000])
    func aSourceKeepsEveryContract(length: Int, pieces: Int) async throws {
        let bytes = Data(makeContent(length))
        let server = try Self.server(Array(bytes), pieces: pieces)
        let url = server.url
        let all = await violations(of: try HTTPSource(url), expecting: bytes)
        #expect(all.isEmpty, "\(all)")
        let waiting = await violations(of: try HTTPSource(url).readingAhead(), expecting: bytes)
        #expect(waiting.isEmpty, "\(waiting)")
    }

    /// After the first answer, of 65,536 bytes: what the server answers to the request for the rest.
    @Test(arguments: [
        ("416 No\r\nContent-Range: bytes */65535", BlobError.Code.changed),
        ("416 No\r\nContent-Range: bytes */65537", .changed), ("416 No\r\nETag: \"two\"", .changed),
        ("206 Partial\r\nContent-Range: bytes 65536-65536/*\r\nETag: \"two\"", .changed),
        ("206 Partial\r\nContent-Range: bytes 65535-65535/*\r\nETag: \"one\"", .corrupted),
        ("200 OK\r\nETag: \"one\"", .changed), ("404 Not Found", .notFound), ("204 No Content", .refused),
    ]) func anEndThatContradictsTheBytesIsAnError(lines: String, code: BlobError.Code) throws {
        var object = ObjectServer.Object(makeContent(200_000))
        object.tellsLength = false
        let server = try ObjectServer(object) { number, _, connection in
            guard number > 0 else { return false }
            let length = lines.hasPrefix("20") && !lines.hasPrefix("204") ? "Content-Length: 1\r\n\r\nx" : "\r\n"
            connection.send("HTTP/1.1 \(lines)\r\n\(length)")
            return true
        }
        let reader = try HTTPSource(server.url).open()
        let found = ReadingOutcome(reader)
        #expect(found.code == code && found.bytes == makeContent(65_536))
    }

    @Test func anEndThatMovesIsAnError() throws {
        let server = try Self.server(makeContent(100_000), tellsLengthAtEnd: true)
        let reader = try HTTPSource(server.url).open()
        let first = try read(reader)
        server.object.bytes = makeContent(50_000)
        let found = ReadingOutcome(reader, after: first)
        #expect(found.code == .changed && found.bytes == makeContent(65_536))
    }

    /// Without a strong tag, too.
    @Test func anotherWeakTagIsAChange() throws {
        let server = try Self.server(makeContent(100_000), pieces: 65_536)
        (server.object.tag, server.object.ignoresConditions) = ("W/\"one\"", true)
        let reader = try HTTPSource(server.url).open()
        _ = try read(reader)
        server.object.tag = "W/\"two\""
        #expect(codeThrown { try readAll(reader) } == .changed)
    }

    /// The directory of a zip is at its end: the archive is copied.
    @Test func aMemberOfAZipIsRead() throws {
        let folder = try TemporaryFolder()
        let script = "import sys, zipfile; zipfile.ZipFile(sys.argv[1], 'w').writestr('a', b'x' * 200000)"
        #expect(try FinishedProcess("python3", ["-c", script, folder.path("x.zip")]).status == 0)
        let server = try Self.server(Array(try Data(contentsOf: URL(fileURLWithPath: folder.path("x.zip")))))
        let member = try BlobRegistry.standard.source(for: "\(server.url)#a")
        #expect(try readAll(member.open()) == [UInt8](repeating: 120, count: 200_000))
    }
}
