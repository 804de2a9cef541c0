import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// Servers that lie, break off and stall: the right bytes, or the right error.
@Suite struct FaultTests {
    private static let bytes = makeContent(120)

    /// The head of the right answer to a request for all bytes of ``bytes``.
    private static let head =
        "HTTP/1.1 206 Partial Content\r\nETag: \"one\"\r\nContent-Type: text/plain\r\n"
        + "Content-Range: bytes 0-119/120\r\nContent-Length: 120\r\n\r\n"

    /// A source whose server answers every request with these bytes and closes the connection.
    private func answering(_ answer: [UInt8]) throws -> (HTTPSource, ObjectServer) {
        let server = try ObjectServer([]) { _, _, connection in
            connection.send(answer)
            return true
        }
        return (try HTTPSource(server.url), server)
    }

    @Test func anAnswerThatIsCutAnywhereIsAnError() throws {
        let answer = Array(Self.head.utf8) + Self.bytes
        for count in 0..<answer.count {
            let (source, server) = try self.answering(Array(answer[..<count]))
            let found = Result { try readAll(source.open()) }
            guard case .failure(let error) = found else {
                Issue.record("\(count) bytes of an answer are taken for all of it")
                continue
            }
            let isTransient = BlobError(wrapping: error).isTransient
            // A line that is cut can be malformed; a cut between lines is always worth another try.
            #expect(isTransient || count < Self.head.utf8.count, "\(count): \(error)")
            withExtendedLifetime(server) {}
        }
        let (source, server) = try self.answering(answer)
        #expect(try readAll(source.open()) == Self.bytes)
        withExtendedLifetime(server) {}
    }

    @Test func aHeadWithAFlippedBitNeverGivesWrongBytes() throws {
        let head = Array(Self.head.utf8)
        for index in head.indices {
            for bit in 0..<8 {
                let damaged = head.flipping(1 << bit, at: index)
                let (source, server) = try self.answering(damaged + Self.bytes)
                if let found = try? readAll(source.open()) {
                    #expect(found == Self.bytes, "bit \(bit) of byte \(index)")
                }
                withExtendedLifetime(server) {}
            }
        }
    }

    @Test(arguments: [
        ("206 Partial Content\r\nContent-Range: bytes 1-120/121\r\nContent-Length: 120", BlobError.Code.corrupted),
        ("206 Partial Content\r\nContent-Range: bytes 0-119/110\r\nContent-Length: 120", .corrupted),
        ("206 Partial Content\r\nContent-Range: bytes 0-118/120\r\nContent-Length: 120", .corrupted),
        ("206 Partial Content\r\nContent-Range: bytes 0-99999/100000\r\nContent-Length: 100000", .truncated),
        ("206 Partial Content\r\nContent-Range: bytes */120\r\nContent-Length: 120", .corrupted),
        ("206 Partial Content\r\nContent-Range: lines 0-119/120\r\nContent-Length: 120", .corrupted),
        ("206 Partial Content\r\nContent-Length: 120", .corrupted),
        ("206 Partial Content\r\nContent-Range: bytes 0-119/*\r\nContent-Length: 120", .corrupted),
        ("206 Partial Content\r\nContent-Range: bytes 0-59/60\r\nTransfer-Encoding: chunked", .corrupted),
        ("206 Partial\r\nContent-Range: bytes 0-119/120\r\nContent-Length: 120\r\nContent-Length: 5", .corrupted),
        ("200 OK\r\nContent-Length: 99999999999999999999", .corrupted),
        ("200 OK\r\nContent-Length: 121", .truncated),
        ("204 No Content", .refused), ("304 Not Modified", .refused), ("300 Multiple Choices", .refused),
    ])
    func anAnswerThatLiesIsAnError(lines: String, code: BlobError.Code) throws {
        let isChunked = lines.contains("chunked")
        let body = isChunked ? Array("78\r\n".utf8) + Self.bytes + Array("\r\n0\r\n\r\n".utf8) : Self.bytes
        let (source, server) = try self.answering(Array("HTTP/1.1 \(lines)\r\n\r\n".utf8) + body)
        #expect(codeThrown { try readAll(source.open()) } == code)
        withExtendedLifetime(server) {}
    }

    @Test(arguments: [
        (404, BlobError.Code.notFound, false), (410, .notFound, false), (401, .permissionDenied, false),
        (403, .permissionDenied, false), (400, .refused, false), (418, .refused, false), (408, .unavailable, true),
        (429, .unavailable, true), (500, .unavailable, true), (501, .unavailable, false), (503, .unavailable, true),
    ])
    func aStatusHasItsError(status: Int, code: BlobError.Code, isTransient: Bool) throws {
        let (source, server) = try self.answering(
            Array("HTTP/1.1 \(status) Reason\r\nRetry-After: 17\r\nContent-Length: 5\r\n\r\nwords".utf8))
        do {
            _ = try source.info()
            Issue.record("\(status) is a success")
        } catch {
            #expect(error.code == code)
            #expect(error.isTransient == isTransient)
            #expect(error.retryDelay == .seconds(17))
            #expect(error.message.contains("\(status) Reason: words"))
            #expect(error.locator == server.url)
        }
    }

    @Test func aDateOfRetryAfterIsADelay() throws {
        let formatter = DateFormatter()
        formatter.locale = Locale(identifier: "en_US_POSIX")
        formatter.timeZone = TimeZone(identifier: "GMT")
        formatter.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
        let date = formatter.string(from: Date(timeIntervalSinceNow: 100))
        let (source, server) = try self.answering(
            Array("HTTP/1.1 503 Busy\r\nRetry-After: \(date)\r\nContent-Length: 0\r\n\r\n".utf8))
        do {
            _ = try source.info()
        } catch {
            let delay = try #require(error.retryDelay)
            #expect(delay > .seconds(90) && delay <= .seconds(101))
        }
        withExtendedLifetime(server) {}
    }

    /// The object changes behind the first window, and the server ignores the condition, or keeps it.
    @Test(arguments: ["\"two\"", "W/\"two\"", nil], [false, true])
    func anObjectThatChangesIsAnError(tag: String?, ignoresConditions: Bool) throws {
        let bytes = makeContent(1_000_000)
        let server = try ObjectServer(bytes)
        server.object.ignoresConditions = ignoresConditions
        server.object.date = "Mon, 01 Jan 2024 00:00:00 GMT"
        if tag?.hasPrefix("W") ?? true { server.object.tag = tag.map { _ in "W/\"one\"" } }
        let reader = try HTTPSource(server.url).open()
        let first = try read(reader)
        var object = server.object
        object.bytes = Array(makeContent(1_000_100)[100...])
        object.tag = tag
        object.date = "Mon, 01 Jan 2024 00:00:01 GMT"
        server.object = object
        let found = ReadingOutcome(reader, after: first)
        #expect(found.code == .changed)
        #expect(found.bytes == Array(bytes.prefix(found.bytes.count)))
        // Another opening reads the new object.
        let source = try HTTPSource(server.url)
        #expect(try readAll(source.open()) == object.bytes)
    }

    @Test func aSourceReadsTheNewObjectAfterAChange() throws {
        let server = try ObjectServer(makeContent(1_000_000))
        let source = try HTTPSource(server.url)
        let validator = try #require(try source.info().validator)
        server.object.bytes = makeContent(500_000)
        server.object.tag = "\"two\""
        #expect(codeThrown { try readAll(source.open()) } == .changed)
        #expect(codeThrown { try readAll(source.open(matching: validator)) } == .changed)
        #expect(try readAll(source.open()) == makeContent(500_000))
    }

    /// The server answers ranges with the whole object from its second answer on.
    @Test func aServerThatLosesItsRangesIsReadToTheEnd() throws {
        let bytes = makeContent(3_000_000)
        let server = try ObjectServer(bytes)
        let source = try HTTPSource(server.url)
        let reader = try source.open()
        var found = try read(reader)
        server.object.hasRanges = false
        found += try readAll(reader)
        #expect(found == bytes)
        #expect(try readAll(source.open(at: 2_000_000)) == Array(bytes[2_000_000...]))
    }

    @Test func anEmptyObjectMayBeARangeThatCannotBeSatisfied() throws {
        let server = try ObjectServer([])
        let source = try HTTPSource(server.url)
        #expect(try source.info().byteCount == 0)
        #expect(try readAll(source.open()).isEmpty)
        #expect(codeThrown { try readAll(HTTPSource(server.url).open(at: 5)) } == .invalidArgument)
    }

    /// Each answer is the beginning of the asked range, and the first ones end before the byte that is needed.
    @Test(arguments: [1000, 65_535]) func aServerThatGivesFewBytesIsAskedForMore(pieces: Int) throws {
        let bytes = makeContent(150_000)
        let server = try ObjectServer(bytes)
        server.object.pieceByteCount = pieces
        let source = try HTTPSource(server.url)
        for offset in [140_000, 65_536, 0] {
            #expect(try readAll(source.open(at: Int64(offset))) == Array(bytes[offset...]))
        }
        #expect(server.requests.count <= 3 * (150_000 / pieces + 2))
    }

    /// Each answer begins before the asked range.
    @Test func aServerThatNeverGivesTheByteIsAnError() throws {
        let server = try ObjectServer([]) { _, request, connection in
            let first = max(0, (request.range(in: 1 << 20)?.lowerBound ?? 0) - 1)
            connection.send(
                "HTTP/1.1 206 Partial\r\nETag: \"one\"\r\nContent-Range: bytes \(first)-\(first)/1048576\r\n"
                    + "Content-Length: 1\r\nConnection: close\r\n\r\nx")
            return true
        }
        #expect(codeThrown { try readAll(HTTPSource(server.url).open(at: 70_000)) } == .corrupted)
        #expect(server.requests.count < 20)
    }

    @Test func aStalledServerReachesTheIdleLimit() throws {
        let server = try ObjectServer([]) { number, _, connection in
            if number > 0 { connection.send(Self.head + "some") }
            connection.waitForEnd()
            return true
        }
        let source = try HTTPSource(server.url)
        for _ in 0..<2 {
            let start = ContinuousClock.now
            let context = BlobContext(idleLimit: .milliseconds(300))
            #expect(codeThrown { try readAll(source.open(context: context)) } == .timedOut)
            #expect(ContinuousClock.now - start < .seconds(5))
        }
    }

    @Test func aCancelledReaderReturnsAndItsConnectionIsClosed() throws {
        let (isStalled, isEnded) = (WaitSignal(), WaitSignal())
        let server = try ObjectServer([]) { _, _, connection in
            connection.send("HTTP/1.1 200 OK\r\n\r\nsome")
            isStalled.signal()
            connection.waitForEnd()
            isEnded.signal()
            return true
        }
        let context = BlobContext()
        let reader = try HTTPSource(server.url).open(context: context)
        #expect(try read(reader).count == 4)
        _ = isStalled.wait(for: .seconds(20))
        let start = ContinuousClock.now
        context.cancellation.cancel()
        #expect(codeThrown { try read(reader) } == .cancelled)
        reader.close()
        #expect(isEnded.wait(for: .seconds(20)))
        #expect(ContinuousClock.now - start < .seconds(1))
    }

    @Test func aPortWithoutAServerIsUnavailable() throws {
        let listener = try LoopbackListener()
        close(listener.descriptor)
        let source = try HTTPSource("http://127.0.0.1:\(listener.port)/")
        do {
            _ = try source.info()
            Issue.record("There is a server")
        } catch {
            #expect(error.code == .unavailable)
            #expect(error.isTransient)
        }
    }
}
