import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import BlobTransfer
import FileSource
import Foundation
import Testing

@Suite struct BlobUploaderTests {
    @Test(arguments: [0, 1, 100_000, 3_000_000], [BlobUploadRequest.Method.put, .post])
    func theBodyArrivesAsItIs(byteCount: Int, method: BlobUploadRequest.Method) async throws {
        let bytes = makeContent(byteCount)
        let bodies = Locked<[[UInt8]]>([])
        let server = try ScriptedServer { connection in
            connection.receiveBody(byteCount)
            bodies.withLock { $0.append(Array(connection.body ?? [])) }
            connection.send(created)
        }
        let response = try await upload(MemorySource(bytes), BlobUploadRequest(method, server.url))
        #expect(response.status == 201)
        #expect(response.reason == "Created")
        #expect(response.value(of: "x-name") == "value")
        #expect(response.body == Data("yes".utf8))
        let isEqual = bodies.withLock { $0 == [bytes] }
        #expect(isEqual)
    }

    @Test(arguments: [0, 1, 200_000]) func aChunkedBodyArrivesAsItIs(byteCount: Int) async throws {
        let bytes = makeContent(byteCount)
        let body = Locked<[UInt8]>([])
        let server = try ScriptedServer { connection in
            connection.receiveBody(0)
            while connection.body?.suffix(5) != Array("0\r\n\r\n".utf8)[...], connection.receive() {}
            body.withLock { $0 = Array(connection.received) }
            connection.send(created)
        }
        var request = BlobUploadRequest(.post, server.url)
        request.isChunked = true
        _ = try await upload(MemorySource(bytes), request)
        let text = body.withLock { String(decoding: $0.prefix(2000), as: UTF8.self) }
        #expect(text.contains("Transfer-Encoding: chunked\r\n"))
        #expect(!text.contains("Content-Length"))
        let content = body.withLock { dechunked($0) }
        let isEqual = content == bytes
        #expect(isEqual, "\(content?.count ?? -1) bytes")
    }

    @Test func theHeadSaysWhatWasAsked() async throws {
        let head = Locked("")
        let server = try ScriptedServer { connection in
            connection.receiveBody(2)
            head.withLock { $0 = String(decoding: connection.received, as: UTF8.self) }
            connection.send(created)
        }
        let fields = [BlobHTTPField("X-One", "1"), BlobHTTPField("X-Empty", "")]
        _ = try await upload(
            MemorySource(Data("hi".utf8), mediaType: "text/plain"), BlobUploadRequest(.put, server.url, fields: fields))
        let text = head.withLock { $0 }
        #expect(text.hasPrefix("PUT /x HTTP/1.1\r\n"))
        for line in ["X-One: 1", "X-Empty:", "Content-Type: text/plain", "Content-Length: 2"] {
            #expect(text.contains("\r\n\(line)\r\n"), "\(text)")
        }
        #expect(!text.contains("Expect"))
    }

    @Test func whitespaceAroundAValueDoesNotBelongToIt() throws {
        for line in ["X: a b", "X:a b", "X: \t a b", "X: a b \t"] {
            #expect(BlobHTTPField(line: line) == BlobHTTPField("X", "a b"))
        }
        for line in ["X", "X:", "X: \t "] { #expect(BlobHTTPField(line: line) == nil) }
        #expect(BlobHTTPField(line: "X;") == BlobHTTPField("X", ""))
    }

    /// Both are one packet, which a server reads at once.
    @Test(arguments: [1, 4096, 16_000]) func aSmallBodyIsSentWithItsHead(byteCount: Int) async throws {
        let content = makeContent(byteCount)
        let messages = Recorder<[UInt8]>()
        let server = try ScriptedServer { connection in
            guard connection.receive() else { return }
            messages.append(connection.received)
            connection.receiveBody(byteCount)
            connection.send(created)
        }
        for _ in 0..<3 { try await upload(MemorySource(Data(content)), BlobUploadRequest(.put, server.url)) }
        for message in await messages.values(count: 3) {
            let count = try #require(headCount(message.prefix(4096)))
            let isEqual = message[count...].elementsEqual(content)
            #expect(isEqual)
            let lines = String(decoding: message[..<count], as: UTF8.self).components(separatedBy: "\r\n")
            #expect(lines.first == "PUT /x HTTP/1.1")
            #expect(
                lines.filter { $0.lowercased().hasPrefix("content-") }.sorted() == [
                    "Content-Length: \(byteCount)", "Content-Type: application/octet-stream",
                ])
        }
    }

    @Test func progressCountsTheBytesOfTheBody() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1_000_000)
            connection.send(created)
        }
        let counts = Locked<[Int64]>([])
        var request = BlobUploadRequest(.put, server.url)
        request.onProgress = { sent, total in counts.withLock { $0 += total == 1_000_000 ? [sent] : [-1] } }
        _ = try await upload(MemorySource(makeContent(1_000_000)), request)
        let all = counts.withLock { $0 }
        #expect(all.last == 1_000_000)
        #expect(all == all.sorted())
    }

    /// A server that answers once the client was told of all bytes, and nothing is told after that.
    @Test(arguments: [1, 100_000], [false, true])
    func progressDoesNotWaitForTheAnswer(byteCount: Int, isChunked: Bool) async throws {
        let told = WaitSignal()
        let wasTold = Locked<[Bool]>([])
        let server = try ScriptedServer { connection in
            connection.receiveBody(byteCount, isChunked: isChunked)
            let isInTime = told.wait(for: .seconds(20))
            wasTold.withLock { $0.append(isInTime) }
            connection.send(created)
        }
        let counts = Locked<[Int64]>([])
        var request = BlobUploadRequest(.put, server.url)
        request.isChunked = isChunked
        request.onProgress = { sent, _ in
            counts.withLock { $0.append(sent) }
            if sent == Int64(byteCount) { told.signal() }
        }
        _ = try await upload(MemorySource(makeContent(byteCount)), request)
        #expect(wasTold.withLock { $0 } == [true])
        #expect(counts.withLock { $0.filter { $0 == Int64(byteCount) } }.count == 1)
    }

    @Test func theAnswerGoesWhereItIsWanted() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send(created)
        }
        let answer = Locked("")
        var request = BlobUploadRequest(.put, server.url)
        request.onResponseBody = { bytes in answer.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        let response = try await upload(MemorySource([1]), request)
        #expect(answer.withLock { $0 } == "yes")
        #expect(response.body.isEmpty)
    }

    @Test func aRateLimitHolds() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(200_000)
            connection.send(created)
        }
        var request = BlobUploadRequest(.put, server.url)
        request.rateLimit = 400_000
        let start = ContinuousClock.now
        _ = try await upload(MemorySource(makeContent(200_000)), request)
        #expect(ContinuousClock.now - start > .milliseconds(420))
    }

    @Test(arguments: [
        ("300", 299...300), ("86401", 86_400...86_400), ("-1", 0...0), ("soon", 0...0),
        ("Fri, 31 Dec 2100 23:59:59 GMT", 86_400...86_400), ("Thu, 01 Jan 1970 00:00:00 GMT", 0...0),
    ]) func theDelayThatAServerAsksForIsKnown(value: String, seconds: ClosedRange<Int>) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send("HTTP/1.1 503 No\r\nRetry-After: \(value)\r\nContent-Length: 0\r\n\r\n")
        }
        let error = try await failure(of: MemorySource([1]), BlobUploadRequest(.put, server.url))
        #expect(error.isTransient)
        #expect(seconds.contains(Int(error.retryDelay?.components.seconds ?? 0)))
    }

    /// The content of the first request is that of all.
    @Test(arguments: [true, false]) func aSourceThatChangesBetweenRequestsIsChanged(changes: Bool) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(3)
            let isFirst = connection.body?.elementsEqual([1, 2, 3]) == true
            connection.send("HTTP/1.1 \(isFirst ? 503 : 201) Oh\r\nRetry-After: 0\r\nContent-Length: 0\r\n\r\n")
        }
        let folder = try TemporaryFolder()
        let source = FileSource(path: try folder.write([1, 2, 3], to: "file"))
        let repetitions = Recorder<BlobError.Code>()
        var request = BlobUploadRequest(.put, server.url)
        request.maximumRetryCount = 2
        request.onRetry = { error in
            repetitions.append(error.code)
            if changes { _ = try? folder.write([1, 2, 4], to: "file") }
        }
        #expect(try await failure(of: source, request).code == (changes ? .changed : .refused))
        #expect(repetitions.values.count == (changes ? 1 : 2))
    }

    @Test(arguments: [
        BlobUploadRequest(.put, "ftp://127.0.0.1/x"), BlobUploadRequest(.put, "127.0.0.1"),
        BlobUploadRequest(.put, "http://a/b c"),
        BlobUploadRequest(.put, "http://a/", fields: [.init("A\r\nB", "x")]),
        BlobUploadRequest(.put, "http://a/", fields: [.init("A", "x\r\nB: y")]),
        BlobUploadRequest(.put, "http://a/", fields: [.init("Content-Length", "3")]),
        BlobUploadRequest(.put, "http://a/", fields: [.init("Expect", "100-continue")]),
    ])
    func whatCannotBeARequestIsRefusedBeforeTheSourceIsOpened(request: BlobUploadRequest) async throws {
        let source = ClosureSource { _, _, _ in throw BlobError(.internalError, "It was read.") }
        #expect(try await failure(of: source, request).code == .invalidArgument)
    }

    @Test func secretsOfAURLAreNotPrinted() {
        let request = BlobUploadRequest(.put, "https://user:p@ss@host.example:8/path?signature=1#f")
        #expect(request.printableURL == "https://***@host.example:8/path?***")
    }

    @Test func aServerThatIsNotThereIsUnavailable() async throws {
        let server = try ScriptedServer { _ in }
        server.stop()
        let url = server.url
        let error = try await failure(of: MemorySource([1]), BlobUploadRequest(.post, url))
        #expect(error.code == .unavailable)
        #expect(error.isTransient)
        #expect(error.locator == url)
    }
}
