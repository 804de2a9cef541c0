import AsyncHTTPClient
import BlobStreams
import BlobStreamsNIO
import NIOCore
import NIOHTTP1
import Testing

/// Uploads with async-http-client to a NIO server.
@Suite(.timeLimit(.minutes(1))) struct UploadTests {
    // A buffer holds 128 KiB, and three are kept.
    @Test(arguments: [0, 1, 4095, 131_072, 131_073, 1 << 20, 300_000_000], [true, false])
    func aSourceArrivesWhole(_ byteCount: Int, _ isLengthKnown: Bool) async throws {
        let source = PatternSource(byteCount: byteCount, isLengthKnown: isLengthKnown, mediaType: "image/png")
        try await withServer { server, client in
            let response = try await client.upload(source, as: put(server))
            #expect(response.status == .created)
            let request = try #require(await server.requests(1).first)
            #expect(request.isWhole && request.bytes == source.checked)
            #expect(request.head.headers["Content-Length"] == (isLengthKnown ? ["\(byteCount)"] : []))
            #expect(request.head.headers["Transfer-Encoding"] == (isLengthKnown ? [] : ["chunked"]))
            #expect(request.head.headers["Content-Type"] == ["image/png"])
        }
    }

    @Test func aSourceInMemoryArrivesWholeAsABodyAlone() async throws {
        try await withServer { server, client in
            var request = put(server)
            request.body = try await .source(MemorySource(repeatElement(7, count: 500_000)))
            let response = try await client.execute(request, timeout: .seconds(30))
            #expect(response.status == .created)
            let received = try #require(await server.requests(1).first)
            #expect(received.isWhole && received.bytes.count == 500_000)
        }
    }

    @Test(arguments: [0, 1, 131_072, 1 << 20], [true, false])
    func aSourceThatFailsAtItsEndMakesNoWholeBody(_ byteCount: Int, _ isLengthKnown: Bool) async throws {
        let wrong = BlobError(.checksumMismatch, "The checksum is wrong.")
        let source = PatternSource(byteCount: byteCount, isLengthKnown: isLengthKnown, failure: wrong)
        try await withServer { server, client in
            let error = await failure { () async throws(BlobError) in
                try await client.upload(source, as: put(server))
            }
            #expect(error?.code == .checksumMismatch)
            // An empty body fails before a connection is made.
            guard byteCount > 0 else { return }
            let request = try #require(await server.requests(1).first)
            #expect(!request.isWhole)
            #expect(!isLengthKnown || request.bytes.count < byteCount)
        }
    }

    @Test func aTruncatedSourceMakesNoWholeBody() async throws {
        let wrong = BlobError(.truncated, "The source ends early.")
        let source = PatternSource(byteCount: 1 << 20, failure: wrong, actualByteCount: 1 << 19)
        try await withServer { server, client in
            var request = put(server)
            request.body = try await .source(source)
            // The error of a body used on its own is also the error of the source.
            await #expect { try await client.execute(request, timeout: .seconds(30)) } throws: {
                ($0 as? BlobError)?.code == .truncated
            }
            #expect(await server.requests(1).first?.isWhole == false)
        }
    }

    @Test func anEarlyRefusalIsDeliveredWithItsBody() async throws {
        let answer = TestServer.Answer(
            status: .payloadTooLarge, headers: ["Connection": "close"], body: "At most 1 MB.", afterByteCount: 1)
        try await withServer({ _ in answer }) { server, client in
            let error = try #require(
                await failure { () async throws(BlobError) in
                    try await client.upload(PatternSource(byteCount: 300_000_000), as: put(server))
                })
            #expect(error.code == .refused && error.message.contains("413 Payload Too Large: At most 1 MB."))
            let refusal = try #require(error.cause as? HTTPClientRefusal)
            #expect(refusal.status == .payloadTooLarge && refusal.body == ByteBuffer(string: "At most 1 MB."))
            #expect(await server.requests(1).first?.isWhole == false)
        }
    }

    @Test func anEarlySuccessCountsOnlyWhenTheSourceHasEnded() async throws {
        let wrong = BlobError(.checksumMismatch, "The checksum is wrong.")
        let source = PatternSource(byteCount: 10_000_000, failure: wrong)
        try await withServer({ _ in TestServer.Answer(afterByteCount: 1) }) { server, client in
            let error = await failure { () async throws(BlobError) in
                try await client.upload(source, as: put(server))
            }
            #expect(error?.code == .checksumMismatch)
            #expect(await server.requests(1).first?.isWhole == false)
        }
    }

    @Test func cancellingTheTaskEndsTheReading() async throws {
        let source = StalledSource()
        try await withServer { server, client in
            let request = put(server)
            let task = Task {
                await failure { () async throws(BlobError) in try await client.upload(source, as: request) }
            }
            await server.waitForBytes()
            task.cancel()
            #expect(await task.value?.code == .cancelled)
            await source.waitForClose()
            #expect(await server.requests(1).first?.isWhole == false)
        }
    }

    @Test func cancellingTheContextEndsTheReading() async throws {
        let source = StalledSource()
        try await withServer { server, client in
            let (request, context) = (put(server), BlobContext())
            let task = Task {
                await failure { () async throws(BlobError) in
                    try await client.upload(source, as: request, context: context)
                }
            }
            await server.waitForBytes()
            context.cancellation.cancel()
            #expect(await task.value?.code == .cancelled)
            await source.waitForClose()
        }
    }

    @Test func theLimitsOfTheContextHold() async throws {
        try await withServer({ _ in nil }) { server, client in
            let idle = await failure { () async throws(BlobError) in
                try await client.upload(
                    StalledSource(), as: put(server), context: BlobContext(idleLimit: .milliseconds(50)))
            }
            #expect(idle?.code == .timedOut)
            // The server never responds.
            let late = await failure { () async throws(BlobError) in
                try await client.upload(
                    MemorySource([1]), as: put(server), context: BlobContext(deadline: .now + .milliseconds(200)))
            }
            #expect(late?.code == .timedOut)
        }
    }

    @Test func noConnectionIsUnavailable() async throws {
        let url = try await withServer { server, _ in server.url() }
        // Until then, the client keeps trying.
        let timeout = HTTPClient.Configuration.Timeout(connect: .milliseconds(200))
        let client = HTTPClient(
            eventLoopGroupProvider: .singleton, configuration: HTTPClient.Configuration(timeout: timeout))
        let error = await failure { () async throws(BlobError) in
            try await client.upload(MemorySource([1]), as: HTTPClientRequest(url: url))
        }
        #expect(error?.isTransient == true && error?.locator == url)
        #expect([.unavailable, .timedOut].contains(error?.code))
        try await client.shutdown()
    }
}
