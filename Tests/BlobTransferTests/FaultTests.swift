import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// What servers and sources can do wrong, and what becomes of it.
@Suite struct FaultTests {
    private static let large = 3_000_000

    /// Many times the second that a cancellation may take: other tests want the processors too.
    private static let patience = Duration.seconds(20)
    private static let largeContent = makeContent(large)

    private static let manyFields = String(repeating: "A: b\r\n", count: 1000)
    private static let longField = String(repeating: "b", count: 200_000)
    private static let manyHeads = String(repeating: "HTTP/1.1 102 Wait\r\n\r\n", count: 200)

    private static let badAnswers: [(String, BlobError.Code)] = [
        ("hello\r\n\r\n", BlobError.Code.corrupted), ("HTTP/1.1 abc OK\r\n\r\n", BlobError.Code.corrupted),
        ("HTTP/1.1 200 OK\r\nContent-Length: 3\r\nContent-Length: 5\r\n\r\nhello", BlobError.Code.corrupted),
        ("HTTP/1.1 200 OK\r\nContent-Length: 99999999999999999999\r\n\r\nhello", BlobError.Code.corrupted),
        ("HTTP/1.1 200 OK\r\n\(manyFields)\r\n", BlobError.Code.limitExceeded),
        ("HTTP/1.1 200 OK\r\nA: \(longField)\r\n\r\n", BlobError.Code.limitExceeded),
        (manyHeads + created, BlobError.Code.limitExceeded),
        ("HTTP/1.1 307 Go\r\nLocation: http://127.0.0.1:1/\r\nContent-Length: 0\r\n\r\n", BlobError.Code.refused),
        ("HTTP/1.1 401 No\r\nWWW-Authenticate: Basic realm=x\r\nContent-Length: 0\r\n\r\n", BlobError.Code.refused),
        ("HTTP/1.1 417 No\r\nContent-Length: 0\r\n\r\n", BlobError.Code.refused),
    ]

    // MARK: Servers

    @Test(arguments: [1, 100_000, 1_500_000], [BlobUploadRequest.Method.put, .post])
    func aConnectionThatBreaksInTheMiddleIsAnErrorAndNothingIsSentAgain(
        byteCount: Int, method: BlobUploadRequest.Method
    ) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(byteCount)
            connection.reset()
        }
        let error = try await failure(of: MemorySource(Self.largeContent), BlobUploadRequest(method, server.url))
        #expect(error.code == .io)
        #expect(error.isTransient == (method == .put))
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: [BlobUploadRequest.Method.put, .post])
    func noAnswerAfterTheWholeBodyIsAnErrorAndNothingIsSentAgain(method: BlobUploadRequest.Method) async throws {
        let server = try ScriptedServer { connection in connection.receiveBody(Self.large) }
        let error = try await failure(of: MemorySource(Self.largeContent), BlobUploadRequest(method, server.url))
        #expect(error.code == .io)
        #expect(error.message.contains("it is unknown whether the server received them"))
        #expect(error.isTransient == (method == .put))
        #expect(server.connectionCount == 1)
    }

    @Test(arguments: [0, 1, 2_000_000], [false, true])
    func anEarlyRefusalIsDelivered(byteCount: Int, isReset: Bool) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(byteCount)
            connection.send("HTTP/1.1 413 Too Large\r\nContent-Length: 4\r\nConnection: close\r\n\r\nmuch")
            if isReset { connection.reset() }
        }
        for _ in 0..<20 {
            let error = try await failure(of: hugeSource, BlobUploadRequest(.put, server.url))
            #expect(error.code == .refused)
            #expect(error.message.contains("413 Too Large"))
            let response = (error.cause as? BlobUploadRefusal)?.response
            #expect(response?.status == 413)
        }
    }

    @Test func theBeginningOfAnEndlessRefusalIsEnough() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send("HTTP/1.1 500 Oh\r\n\r\n")
            for _ in 0..<2000 { connection.send(String(repeating: "x", count: 1000)) }
        }
        let error = try await failure(of: MemorySource([1]), BlobUploadRequest(.put, server.url))
        #expect(error.code == .refused)
        #expect((error.cause as? BlobUploadRefusal)?.response.body.count == BlobUploadResponse.maximumBodyByteCount)
    }

    @Test(arguments: [
        "HTTP/1.1 201 Created\r\nContent-Le", "HTTP/1.1 201 Created\r\n", "HTTP/1.1 201 Created\r\nA: b\r\n",
        "HTTP/1.1 201 Created\r\nContent-Length: 10\r\n\r\nabc",
    ])
    func anAnswerThatIsCutOffIsTruncated(answer: String) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send(answer)
        }
        let error = try await failure(of: MemorySource([1]), BlobUploadRequest(.put, server.url))
        #expect(error.code == .truncated)
    }

    @Test(arguments: Self.badAnswers)
    func anAnswerThatIsNoSuccessIsAnError(answer: String, code: BlobError.Code) async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send(answer)
        }
        let error = try await failure(of: MemorySource([1]), BlobUploadRequest(.post, server.url))
        #expect(error.code == code, "\(error)")
        #expect(server.connectionCount == 1)
    }

    @Test func anAnswerBeforeTheBodyIsWholeIsNoSuccess() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1000)
            connection.send(created)
            connection.reset()
        }
        let error = try await failure(of: hugeSource, BlobUploadRequest(.put, server.url))
        #expect(error.code == .io)
    }

    @Test func aSlowReaderGetsEverything() async throws {
        let bytes = Self.largeContent
        let isEqual = Locked(false)
        let server = try ScriptedServer { connection in
            for count in stride(from: 0, through: Self.large, by: 100_000) {
                connection.receiveBody(count)
                usleep(2000)
            }
            isEqual.withLock { $0 = connection.body == bytes[...] }
            connection.send(created)
        }
        try await upload(MemorySource(bytes), BlobUploadRequest(.put, server.url))
        #expect(isEqual.withLock { $0 })
    }

    @Test func aServerThatStallsRunsIntoTheIdleLimit() async throws {
        let over = WaitSignal()
        let server = try ScriptedServer { _ in _ = over.wait(for: .seconds(30)) }
        defer { over.signal() }
        let error = try await failure(
            of: hugeSource, BlobUploadRequest(.put, server.url), BlobContext(idleLimit: .milliseconds(1500)))
        #expect(error.code == .timedOut)
        #expect(error.message.contains("No data was transferred for 1.5 seconds"))
    }

    @Test func aServerThatStallsRunsIntoTheDeadline() async throws {
        let over = WaitSignal()
        let server = try ScriptedServer { _ in _ = over.wait(for: .seconds(30)) }
        defer { over.signal() }
        let error = try await failure(
            of: MemorySource([1]), BlobUploadRequest(.put, server.url),
            BlobContext(deadline: .now + .milliseconds(300)))
        #expect(error.code == .timedOut)
        #expect(error.message.contains("deadline"))
    }

    @Test(arguments: [1, 20_000_000]) func aStalledUploadCanBeCancelled(byteCount: Int) async throws {
        let (over, context) = (WaitSignal(), BlobContext())
        let cancelledAt = Locked(ContinuousClock.now)
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            cancelledAt.withLock { $0 = .now }
            context.cancellation.cancel()
            _ = over.wait(for: .seconds(30))
        }
        defer { over.signal() }
        let (code, time) = try await timeOfFailure(
            of: byteCount == 1 ? MemorySource([1]) : hugeSource, BlobUploadRequest(.put, server.url), context)
        #expect(code == .cancelled)
        #expect(time - cancelledAt.withLock { $0 } < Self.patience)
    }

    // MARK: Sources

    @Test(arguments: [Int64(0), 1, 500_000, 2_999_999, 3_000_000], [false, true])
    func theErrorOfASourceWinsAndTheBodyIsNeverWhole(offset: Int64, isChunked: Bool) async throws {
        let fault = BlobError(.checksumMismatch, "This is what the source found.")
        try await self.expectIncompleteBody(.fail(at: offset, fault), isChunked, code: .checksumMismatch)
    }

    @Test(
        arguments: [
            (FaultSource.Fault.truncate(at: 2_000_000), false), (.wrongByteCount(by: 1), false),
            (.wrongByteCount(by: -1), false),
            (.wrongByteCount(by: 1_000_000), false), (.wrongByteCount(by: -3_000_000), false),
        ] as [(FaultSource.Fault, Bool)])
    func aSourceThatLiesAboutItsSizeNeverBecomesAWholeBody(fault: FaultSource.Fault, isChunked: Bool) async throws {
        try await self.expectIncompleteBody(fault, isChunked, code: .misbehavingPlugin)
    }

    private func expectIncompleteBody(
        _ fault: FaultSource.Fault, _ isChunked: Bool, code: BlobError.Code
    ) async throws {
        let received = Locked<[UInt8]?>(nil)
        let done = WaitSignal()
        let server = try ScriptedServer { connection in
            connection.receiveBody(0)
            connection.receiveAll()
            received.withLock { $0 = connection.received }
            done.signal()
        }
        let source = FaultSource(MemorySource(Self.largeContent), fault)
        var request = BlobUploadRequest(.put, server.url)
        request.isChunked = isChunked
        let error = try await failure(of: source, request)
        #expect(error.code == code, "\(error)")
        // Without a connection there is no body either.
        guard server.connectionCount > 0 else { return }
        _ = try await onThread { done.wait(for: .seconds(20)) }
        let message = try #require(received.withLock { $0 })
        guard !isChunked else { return #expect(dechunked(message) == nil) }
        let text = String(decoding: message.prefix(1000), as: UTF8.self)
        let declared = try #require(text.firstMatch(of: /Content-Length: (\d+)/).flatMap { Int($0.1) })
        let bodyStart = try #require(text.range(of: "\r\n\r\n"))
        let headCount = text[..<bodyStart.upperBound].utf8.count
        #expect(message.count - headCount < declared)
    }

    @Test(arguments: [
        FaultSource.Fault.stall(at: 100_000), .uncancellableStall(at: 100_000, for: .seconds(60)), .stall(at: 0),
    ])
    func aSourceThatStallsCanBeCancelled(fault: FaultSource.Fault) async throws {
        let server = try ScriptedServer { $0.receiveAll() }
        let context = BlobContext()
        let cancelledAt = Locked(ContinuousClock.now)
        let source = FaultSource(MemorySource(Self.largeContent), fault)
        Thread.detachNewThread {
            usleep(300_000)
            cancelledAt.withLock { $0 = .now }
            context.cancellation.cancel()
        }
        let (code, time) = try await timeOfFailure(of: source, BlobUploadRequest(.put, server.url), context)
        #expect(code == .cancelled)
        #expect(time - cancelledAt.withLock { $0 } < Self.patience)
    }

    @Test func aSourceThatStallsRunsIntoItsOwnIdleLimit() async throws {
        let server = try ScriptedServer { $0.receiveAll() }
        let source = FaultSource(MemorySource(Self.largeContent), .stall(at: 100_000))
        let error = try await failure(
            of: source, BlobUploadRequest(.put, server.url), BlobContext(idleLimit: .milliseconds(300)))
        #expect(error.code == .timedOut)
        #expect(error.layers == ["FaultSource"], "\(error)")
    }

    @Test func anEarlyRefusalIsSeenWhileTheSourceStalls() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send("HTTP/1.1 403 No\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
        }
        let source = FaultSource(MemorySource(Self.largeContent), .stall(at: 1_000_000))
        let error = try await failure(
            of: source, BlobUploadRequest(.put, server.url), BlobContext(idleLimit: .seconds(20)))
        #expect(error.code == .refused)
    }

    @Test(arguments: [FaultSource.Fault.oneByte, .half])
    func difficultSourcesArriveWhole(fault: FaultSource.Fault) async throws {
        let bytes = makeContent(3000)
        let isEqual = Locked(false)
        let server = try ScriptedServer { connection in
            connection.receiveBody(bytes.count)
            isEqual.withLock { $0 = connection.body == bytes[...] }
            connection.send(created)
        }
        try await upload(FaultSource(MemorySource(bytes), fault), BlobUploadRequest(.put, server.url))
        #expect(isEqual.withLock { $0 })
        try await upload(
            // Knows its length only once it is open, and announces it all the same.
            FaultSource(MemorySource(bytes), fault).readingAhead(), BlobUploadRequest(.put, server.url))
        #expect(isEqual.withLock { $0 })
    }
}
