import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// Servers that say that they took a body and did not.
@Suite struct EarlyAnswerTests {
    /// The system of a server takes up to 6 MB that its program never reads.
    @Test(
        arguments: [200_000, 1_500_000, 3_000_000, 5_000_000],
        [(BlobUploadRequest.Method.put, false), (.put, true), (.post, false)])
    func aSuccessThatAResetFollowsIsNone(
        byteCount: Int, request: (method: BlobUploadRequest.Method, isChunked: Bool)
    ) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(100_000)
            connection.send(created)
            connection.reset()
        }
        let source = MemorySource(makeContent(byteCount))
        for _ in 0..<5 {
            var upload = BlobUploadRequest(request.method, server.url)
            upload.isChunked = request.isChunked
            let error = try await failure(of: source, upload)
            #expect(error.code == .io, "\(error)")
            #expect(error.isTransient == (request.method == .put))
        }
        #expect(server.connectionCount == 5)
    }

    @Test(.enabled(if: isLinux)) func aSuccessOfAServerThatClosesLaterWithoutHavingReadTheBodyIsNone() async throws {
        let byteCount = 70_000  // More than one read of the server takes.
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.waitForUnread(byteCount - (connection.body?.count ?? 0))
            connection.send(created)
            connection.waitForEnd()
        }
        let error = try await failure(of: MemorySource(makeContent(byteCount)), BlobUploadRequest(.put, server.url))
        #expect(error.code == .io)
        #expect(error.message.contains("reset the connection"), "\(error)")
    }

    /// More than the systems of both ends hold, so bytes are unsent when the answer comes.
    @Test(arguments: [false, true])
    func aSuccessBeforeTheBodyWasSentIsNoneAlthoughTheServerGoesOnReading(isChunked: Bool) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(100_000)
            connection.send(created)
            connection.receiveAll()
        }
        var request = BlobUploadRequest(.put, server.url)
        request.isChunked = isChunked
        let error = try await failure(of: hugeSource, request)
        #expect(error.code == .io)
        #expect(error.message.contains("201 before it had received the body"), "\(error)")
    }

    /// The last bytes are in the system of the client: libcurl has sent everything.
    @Test(.enabled(if: isLinux)) func aSuccessBeforeTheBodyWasAcknowledgedIsNone() async throws {
        let (answered, over) = (WaitSignal(), WaitSignal())
        let server = try ScriptedServer(receiveBufferByteCount: 4096) { connection in
            connection.receiveBody(1)
            _ = answered.wait(for: .seconds(20))
            connection.send(created)
            _ = over.wait(for: .seconds(20))
        }
        defer { over.signal() }
        var request = BlobUploadRequest(.put, server.url)
        request.onProgress = { sent, byteCount in
            if sent == byteCount { answered.signal() }
        }
        let error = try await failure(of: MemorySource(makeContent(100_000)), request)
        #expect(error.code == .io)
        #expect(error.message.contains("unacknowledged"), "\(error)")
    }

    @Test(arguments: ["", "Connection: close\r\n"], [1, 300_000])
    func aServerThatHasReadEverythingSucceedsWhateverItDoesAfterwards(field: String, byteCount: Int) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(byteCount)
            connection.send("HTTP/1.1 200 OK\r\n\(field)Content-Length: 2\r\n\r\nok")
        }
        for _ in 0..<50 { try await upload(MemorySource(makeContent(byteCount)), BlobUploadRequest(.put, server.url)) }
        let waiting = try ScriptedServer { connection in
            repeat {
                connection.receiveBody(byteCount)
                connection.send("HTTP/1.1 200 OK\r\n\(field)Content-Length: 2\r\n\r\nok")
                connection.forget()
            } while connection.receive()
        }
        for _ in 0..<50 { try await upload(MemorySource(makeContent(byteCount)), BlobUploadRequest(.put, waiting.url)) }
    }

    /// A body that libcurl has from the beginning, and whose end the system has no room for at first.
    @Test(arguments: [60_000, 65_535, 65_536]) func aWholeBodyMayBeSentInParts(byteCount: Int) async throws {
        let content = makeContent(byteCount)
        let bodies = Recorder<[UInt8]>()
        let server = try ScriptedServer(receiveBufferByteCount: 4096) { connection in
            connection.receiveBody(byteCount)
            guard let body = connection.body else { return }
            bodies.append(Array(body))
            connection.send(created)
        }
        for _ in 0..<3 { try await upload(MemorySource(Data(content)), BlobUploadRequest(.put, server.url)) }
        let isEqual = await bodies.values(count: 3).allSatisfy { $0 == content }
        #expect(isEqual)
        let refusing = try ScriptedServer(receiveBufferByteCount: 4096) { connection in
            connection.receiveBody(1)
            connection.send("HTTP/1.1 413 Large\r\nContent-Length: 0\r\n\r\n")
            connection.waitForEnd()
        }
        let refusal = try await failure(of: MemorySource(Data(content)), BlobUploadRequest(.put, refusing.url))
        #expect(refusal.code == .refused, "\(refusal)")
        let hasty = try ScriptedServer(receiveBufferByteCount: 4096) { connection in
            connection.receiveBody(1)
            connection.send(created)
            connection.waitForEnd()
        }
        let error = try await failure(of: MemorySource(Data(content)), BlobUploadRequest(.put, hasty.url))
        #expect(error.code == .io && error.message.contains("before it had received the body"), "\(error)")
    }

    /// The body was not sent, so the request is made once more, without the `Expect` that the server refused (RFC 9110,
    /// section 10.1.1).
    @Test(arguments: [false, true]) func aRefusedExpectationIsOmitted(refusesAgain: Bool) async throws {
        let heads = Recorder<[UInt8]>()
        let content = makeContent(2_000_000)
        let server = try ScriptedServer { connection in
            guard connection.receive() else { return }
            heads.append(connection.received)
            let isExpected = String(decoding: connection.received, as: UTF8.self).contains("Expect:")
            if !isExpected { connection.receiveBody(content.count) }
            connection.send(isExpected || refusesAgain ? "HTTP/1.1 417 No\r\nContent-Length: 4\r\n\r\nbody" : created)
            connection.waitForEnd()
        }
        let request = BlobUploadRequest(.post, server.url)
        if refusesAgain {
            let error = try await failure(of: MemorySource(content), request)
            #expect(error.code == .refused && error.message.contains("417"), "\(error)")
        } else {
            #expect(try await BlobUploader().upload(MemorySource(content), with: request).status == 201)
        }
        #expect(heads.values.count == 2)
        #expect(heads.values.count { String(decoding: $0, as: UTF8.self).contains("Expect: 100-continue") } == 1)
    }

    /// Connections that are open and all break without an answer: the body is sent on one of them, and on a new one.
    @Test func aBodyIsSentAgainOnce() async throws {
        let (bodies, isDone, count) = (Recorder<[UInt8]>(), Locked(false), 8)
        let waiting = Locked<[WaitSignal]>([])
        let server = try ScriptedServer { connection in
            connection.receiveBody(3)
            guard connection.body?.first != 9 else {
                bodies.append(Array(connection.body ?? []))
                return connection.send(created)
            }
            // Answered together, so that each has a connection of its own.
            let signal = WaitSignal()
            let signals = waiting.withLock { signals in
                signals.append(signal)
                return signals
            }
            if signals.count == count { for signal in signals { signal.signal() } }
            _ = signal.wait(for: .seconds(20))
            connection.send(created)
            connection.forget()
            connection.receiveBody(3)
            guard isDone.withLock({ $0 }), let body = connection.body else { return }
            bodies.append(Array(body))
        }
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<count {
                group.addTask { try await upload(MemorySource([1, 2, 3]), BlobUploadRequest(.put, server.url)) }
            }
            try await group.waitForAll()
        }
        isDone.withLock { $0 = true }
        try await upload(MemorySource([9, 2, 3]), BlobUploadRequest(.put, server.url))
        #expect(bodies.values == [[9, 2, 3], [9, 2, 3]])
        #expect(server.connectionCount == count + 1)
    }

    /// Connections that the server closes after some answers, each of which the next small body is sent on first.
    @Test(arguments: [1, 3], [1, 65_536]) func smallBodiesShareConnectionsAndNoneIsLostWithOne(
        answerCount: Int, byteCount: Int
    ) async throws {
        let content = makeContent(byteCount)
        let bodies = Locked(0)
        let server = try ScriptedServer { connection in
            for _ in 0..<answerCount {
                connection.receiveBody(byteCount)
                guard connection.body?.elementsEqual(content) == true else { return }
                bodies.withLock { $0 += 1 }
                connection.send(created)
                connection.forget()
            }
        }
        for _ in 0..<60 { try await upload(MemorySource(content), BlobUploadRequest(.put, server.url)) }
        #expect(bodies.withLock { $0 } == 60)
        #expect(answerCount == 1 || server.connectionCount < 60)
    }

    @Test(arguments: ["Content-Length: 10\r\n", "Transfer-Encoding: chunked\r\n", ""])
    func aRefusalWhoseExplanationNeverEndsIsThatRefusal(framing: String) async throws {
        let over = WaitSignal()
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send("HTTP/1.1 500 Oh\r\n\(framing)\r\n")
            _ = over.wait(for: .seconds(30))
        }
        defer { over.signal() }
        var request = BlobUploadRequest(.put, server.url)
        request.idleLimit = .milliseconds(500)
        let error = try await failure(of: MemorySource([1]), request)
        #expect(error.code == .refused, "\(error)")
        #expect(!error.isTransient)
    }
}
