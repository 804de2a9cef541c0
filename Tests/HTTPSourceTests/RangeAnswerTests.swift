import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// Answers to a request for a range that are not that range. The source asked for it, and not its user: it is read all
/// the same, if need be without ranges.
@Suite(.timeLimit(.minutes(2))) struct RangeAnswerTests {
    /// A way to answer requests with a range.
    enum Answer: String, CaseIterable, Sendable {
        case partWithStatus200, wholeWithStatus200, partWithoutLength200
        case withoutRange, withTwoRanges, withoutBytes, multipart, ofAnotherUnit
        case longer, earlier, fromTheStart, later, contradictory
        case refused, refusedWithLength

        /// Returns the answer to a request for `range` of these bytes.
        func text(_ range: Range<Int>, of bytes: [UInt8]) -> [UInt8] {
            let count = bytes.count
            let part = range.prefix(262_144)
            func answer(_ status: String, _ lines: [String], _ body: ArraySlice<UInt8>) -> [UInt8] {
                let head = ["HTTP/1.1 \(status)", "ETag: \"one\"", "Content-Length: \(body.count)"] + lines
                return Array((head.joined(separator: "\r\n") + "\r\n\r\n").utf8) + body
            }
            func told(_ range: Range<Int>) -> String {
                "Content-Range: bytes \(range.lowerBound)-\(range.upperBound - 1)/\(count)"
            }
            let (low, body) = (part.lowerBound, bytes[part])
            return switch self {
            case .partWithStatus200: answer("200 OK", [told(part)], body)
            case .wholeWithStatus200: answer("200 OK", [told(0..<count)], bytes[...])
            case .partWithoutLength200: answer("200 OK", ["Content-Range: bytes \(low)-\(part.upperBound - 1)/*"], body)
            case .withoutRange: answer("206 Partial", [], body)
            case .withTwoRanges: answer("206 Partial", [told(part), told(0..<count)], body)
            case .withoutBytes: answer("206 Partial", ["Content-Range: bytes */\(count)"], body)
            case .multipart:
                answer(
                    "206 Partial", ["Content-Type: multipart/byteranges; boundary=x"],
                    Array("--x\r\n\(told(part))\r\n\r\n".utf8) + body + Array("\r\n--x--\r\n".utf8))
            case .ofAnotherUnit: answer("206 Partial", ["Content-Range: lines 1-2/3"], body)
            case .longer: answer("206 Partial", [told(low..<count)], bytes[low...])
            case .earlier:
                answer(
                    "206 Partial", [told(max(0, low - 999)..<part.upperBound)],
                    bytes[max(0, low - 999)..<part.upperBound])
            case .fromTheStart: answer("206 Partial", [told(0..<count)], bytes[...])
            case .later:
                answer("206 Partial", [told(min(low + 1, count - 1)..<count)], bytes[min(low + 1, count - 1)...])
            case .contradictory: answer("206 Partial", [told(low..<(low + 1))], bytes[...])
            case .refused: answer("416 Range", [], [])
            case .refusedWithLength: answer("416 Range", ["Content-Range: bytes */\(count)"], [])
            }
        }
    }

    /// A server that answers so, and rightly to requests without a range.
    private func server(_ bytes: [UInt8], _ answer: @escaping @Sendable (Range<Int>) -> [UInt8]) throws -> ObjectServer
    {
        try ObjectServer(bytes) { _, request, connection in
            guard let range = request.range(in: bytes.count) else { return false }
            connection.send(answer(range))
            return true
        }
    }

    /// Past the part that is sent, and the bytes that are kept of an answer.
    @Test(arguments: Answer.allCases, [300_000, 3_000_000]) func anAnswerThatIsNoRangeIsReadAllTheSame(
        answer: Answer, byteCount: Int
    ) throws {
        let bytes = makeContent(byteCount)
        let server = try self.server(bytes) { answer.text($0, of: bytes) }
        #expect(try readAll(HTTPSource(server.url).open()) == bytes)
        #expect(try HTTPSource(server.url).info().byteCount == Int64(byteCount))
        for offset in [1, 65_536, 70_000, byteCount - 1] {
            let rest = try readAll(HTTPSource(server.url).open(at: Int64(offset)))
            #expect(rest == Array(bytes[offset...]), "from \(offset)")
        }
        let source = try HTTPSource(server.url)
        for offset in [200_000, 5, byteCount - 7, 100_000] {
            let range = offset..<min(offset + 1000, byteCount)
            let part = try readAll(source.slice(Int64(range.lowerBound)..<Int64(range.upperBound)).open())
            #expect(part == Array(bytes[range]), "\(range)")
        }
        #expect(server.requests.count < 60, "\(server.requests.count)")
    }

    @Test(arguments: [
        "206 P\r\nContent-Range: bytes 0-0/0", "206 P\r\nContent-Range: bytes 0--1/0", "206 P", "416 R",
        "206 P\r\nContent-Range: bytes */0", "416 R\r\nContent-Range: bytes */0", "416 R\r\nContent-Range: bytes 0-0/0",
        "200 OK\r\nContent-Range: bytes 0-0/0", "200 OK\r\nContent-Range: bytes 0--1/0",
        "200 OK\r\nContent-Range: bytes */0",
    ]) func anEmptyObjectIsEmptyWhateverTheRange(lines: String) throws {
        let server = try self.server([]) { _ in Array("HTTP/1.1 \(lines)\r\nContent-Length: 0\r\n\r\n".utf8) }
        #expect(try readAll(HTTPSource(server.url).open()).isEmpty)
        #expect(try HTTPSource(server.url).info().byteCount == 0)
        #expect(codeThrown { try readAll(HTTPSource(server.url).open(at: 1)) } == .invalidArgument)
    }

    /// The same answer to the request without a range is the last one.
    @Test(arguments: Answer.allCases.filter { ![.wholeWithStatus200, .longer, .earlier, .fromTheStart].contains($0) })
    func aServerIsAskedOnceMore(answer: Answer) throws {
        let bytes = makeContent(300_000)
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(answer.text(0..<300_000, of: bytes))
            return true
        }
        let code = codeThrown { try readAll(HTTPSource(server.url).open()) }
        #expect(code == ([.refused, .refusedWithLength].contains(answer) ? .refused : .corrupted), "\(answer)")
        #expect(server.requests.map { $0.fields["range"] == nil } == [false, true], "\(answer)")
    }

    /// The range behind the first window is no range, of the same object or, at last, of another one.
    @Test(arguments: Answer.allCases) func aLaterAnswerIsNoRange(answer: Answer) throws {
        let bytes = makeContent(1_000_000)
        for isReplaced in [false, true] {
            let server = try ObjectServer(bytes) { number, request, connection in
                guard number > 0, let range = request.range(in: bytes.count) else { return false }
                connection.send(answer.text(range, of: bytes))
                return true
            }
            let reader = try HTTPSource(server.url).open()
            let first = try read(reader)
            guard isReplaced else {
                #expect(try first + readAll(reader) == bytes)
                continue
            }
            server.object.tag = "\"two\""
            guard [.refused, .multipart, .withoutRange, .partWithStatus200].contains(answer) else { continue }
            #expect(codeThrown { try readAll(reader) } == .changed)
        }
    }

    // MARK: Encodings

    /// The bytes are those that are stored, as ranges and as a whole.
    @Test(arguments: ["x-gzip", "gzip", "br", "aws-chunked", "", "identity", "gzip, aws-chunked", "utf-8"])
    func encodedObjectsAreReadAsTheyAreStored(encoding: String) throws {
        let bytes = makeContent(300_000)
        for hasRanges in [true, false] {
            let server = try ObjectServer(bytes)
            server.object.hasRanges = hasRanges
            server.object.type = "application/x-tar"
            server.object.lines = ["Content-Encoding: \(encoding)"]
            let source = try HTTPSource(server.url)
            let info = try source.info()
            #expect(info.byteCount == 300_000 && info.isRandomAccess == hasRanges)
            // That of the bytes, and not of what they are decoded to.
            let type: String? =
                switch encoding {
                case "x-gzip", "gzip", "gzip, aws-chunked": "application/gzip"
                case "br", "utf-8": nil
                default: "application/x-tar"
                }
            #expect(info.mediaType == type)
            #expect(try readAll(source.open()) == bytes)
            #expect(try readAll(source.open(at: 250_000)) == Array(bytes[250_000...]))
            #expect(server.requests.allSatisfy { $0.fields["accept-encoding"] == "identity" })
        }
    }

    /// Without a strong tag, each answer may be encoded in another way: no two of them are joined.
    @Test(arguments: ["W/\"one\"", nil]) func encodedRangesAreJoinedUnderAStrongTagOnly(tag: String?) throws {
        let bytes = makeContent(300_000)
        let server = try ObjectServer(bytes)
        (server.object.tag, server.object.lines) = (tag, ["Content-Encoding: gzip"])
        #expect(try readAll(HTTPSource(server.url).open()) == bytes)
        #expect(server.requests.map { $0.fields["range"] != nil } == [true, false])
        #expect(try readAll(HTTPSource(server.url).open(at: 299_000)) == Array(bytes[299_000...]))
    }

    @Test func anotherEncodingUnderTheSameTagIsAChange() throws {
        let server = try ObjectServer(makeContent(300_000))
        server.object.lines = ["Content-Encoding: gzip"]
        let reader = try HTTPSource(server.url).open()
        _ = try read(reader)
        server.object.lines = ["Content-Encoding: br"]
        #expect(codeThrown { try readAll(reader) } == .changed)
    }
}
