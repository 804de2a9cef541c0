import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// Uploads as tasks, which hold no thread.
@Suite(.timeLimit(.minutes(10))) struct TaskTests {
    @Test func cancellingTheTaskEndsTheUpload() async throws {
        let begun = Recorder<Bool>()
        let server = try ScriptedServer { connection in
            _ = connection.receive()
            begun.append(true)
            connection.waitForEnd()
        }
        let upload = Task { try await BlobUploader().upload(hugeSource, with: BlobUploadRequest(.put, server.url)) }
        await begun.values(count: 1)
        upload.cancel()
        await #expect { _ = try await upload.value } throws: { ($0 as? BlobError)?.code == .cancelled }
    }

    @Test func cancellingTheTaskEndsThePauseBeforeARepetition() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(1)
            connection.send("HTTP/1.1 503 Busy\r\nRetry-After: 3600\r\nContent-Length: 0\r\n\r\n")
        }
        let retries = Recorder<BlobError>()
        var request = BlobUploadRequest(.put, server.url)
        (request.maximumRetryCount, request.onRetry) = (1, { retries.append($0) })
        let upload = Task { [request] in try await BlobUploader().upload(MemorySource([1]), with: request) }
        #expect(await retries.values(count: 1).first?.retryDelay == .seconds(3600))
        upload.cancel()
        await #expect { _ = try await upload.value } throws: { ($0 as? BlobError)?.code == .cancelled }
    }

    /// An event-driven source that has no bytes for now.
    @Test(arguments: [false, true]) func aSourceMayTakeItsTime(isChunked: Bool) async throws {
        let content = makeContent(300_000)
        let (bodies, isReading) = (Recorder<[UInt8]>(), Recorder<Int64>())
        let server = try ScriptedServer { connection in
            connection.receiveBody(content.count, isChunked: isChunked)
            let body = Array(connection.body ?? [])
            bodies.append(isChunked ? dechunked(Array(connection.received)) ?? [] : body)
            connection.send(created)
        }
        let pipe = BlobPipe(info: BlobInfo(byteCount: Int64(content.count)))
        var request = BlobUploadRequest(.put, server.url)
        (request.isChunked, request.onProgress) = (isChunked, { sent, _ in isReading.append(sent) })
        async let response = BlobUploader().upload(pipe.source, with: request)
        // The bytes of the last read are held back until the source has more, or its end.
        try await pipe.write(Data(content[..<100]))
        try await pipe.write(Data(content[100..<200]))
        if isChunked { await isReading.values(count: 1) }
        try await pipe.write(Data(content[200...]))
        pipe.finish()
        #expect(try await response.status == 201)
        let isEqual = await bodies.values(count: 1) == [content]
        #expect(isEqual)
    }

    @Test func aSourceThatHasNothingRunsIntoTheIdleLimit() async throws {
        let server = try ScriptedServer { _ in }
        let pipe = BlobPipe()
        let error = try await failure(
            of: pipe.source, BlobUploadRequest(.put, server.url), BlobContext(idleLimit: .milliseconds(50)))
        #expect(error.code == .timedOut && error.operation == "read")
        #expect(server.connectionCount == 0)
        await #expect(throws: BlobError.self) { try await pipe.write(Data([1])) }
    }

    @Test func theHandlersAreCalledInTheirOrder() async throws {
        let answer = String(repeating: "0123456789", count: 30_000)
        let server = try ScriptedServer { connection in
            connection.receiveBody(3_000_000)
            connection.send("HTTP/1.1 201 Created\r\nContent-Length: \(answer.utf8.count)\r\n\r\n\(answer)")
        }
        let (progress, received) = (Locked<[Int64]>([]), Locked(""))
        var request = BlobUploadRequest(.post, server.url)
        request.onProgress = { sent, byteCount in
            #expect(byteCount == 3_000_000)
            progress.withLock { $0.append(sent) }
        }
        request.onResponseBody = { bytes in received.withLock { $0 += String(decoding: bytes, as: UTF8.self) } }
        let response = try await BlobUploader().upload(MemorySource(makeContent(3_000_000)), with: request)
        #expect(response.body.isEmpty && received.withLock { $0 == answer })
        let sent = progress.withLock { $0 }
        #expect(sent.last == 3_000_000 && sent == sent.sorted())
    }
}
