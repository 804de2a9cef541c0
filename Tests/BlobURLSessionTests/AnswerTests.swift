import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

extension URLSessionTests {
    /// What the server says, and when.
    @Suite(.serialized) struct AnswerTests {
        @Test(arguments: [200, 201, 204, 400, 404, 500]) func anyStatusIsAnAnswer(status: Int) async throws {
            let body = status == 204 ? Data() : Data("because".utf8)
            let server = try HTTPServer { exchange in
                exchange.readBody()
                exchange.respond(status, body: body)
            }
            defer { server.stop() }
            let (answer, response) = try await URLSessionUploader().upload(
                MemorySource(pattern(100_000)), with: put(server.url()))
            #expect(response.statusCode == status)
            #expect(answer == body)
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [true])
        }

        @Test func anAnswerOfTheLimitFitsAndALongerOneDoesNot() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                exchange.respond(200, body: pattern(exchange.number == 0 ? 1000 : 1001))
            }
            defer { server.stop() }
            let uploader = URLSessionUploader(maximumResponseByteCount: 1000)
            let (answer, _) = try await uploader.upload(MemorySource(pattern(10)), with: put(server.url()))
            #expect(answer == pattern(1000))
            let error = await uploadError {
                try await uploader.upload(MemorySource(pattern(10)), with: put(server.url()))
            }
            #expect(error?.code == .limitExceeded)
            #expect(error?.message.contains("1000") == true)
        }

        /// A server that has its reasons not to read the body says so at once.
        @Test func aRefusalThatComesEarlyIsTheAnswer() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody(atLeast: 1000)
                exchange.respond(413, [("Connection", "close")], body: Data("too large".utf8))
                exchange.linger()
            }
            defer { server.stop() }
            let (answer, response) = try await URLSessionUploader().upload(endless, with: put(server.url()))
            #expect(response.statusCode == 413)
            #expect(answer == Data("too large".utf8))
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        @Test func aRefusalInsteadOfContinueIsTheAnswer() async throws {
            let server = try HTTPServer { exchange in
                exchange.respond(413, [("Connection", "close")])
                exchange.linger()
            }
            defer { server.stop() }
            let (_, response) = try await URLSessionUploader().upload(endless, with: put(server.url()))
            #expect(response.statusCode == 413)
        }

        @Test(arguments: modes)
        func successBeforeTheEndIsAnErrorWhenTheConnectionCloses(mode: BlobStreamMode) async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody(atLeast: 1000)
                exchange.respond(200, [("Connection", "close")])
                exchange.linger()
            }
            defer { server.stop() }
            let error = await uploadError {
                try await URLSessionUploader(mode: mode).upload(endless, with: put(server.url()))
            }
            #expect(error?.code == .truncated)
            #expect(error.map { 1000..<endlessByteCount ~= $0.byteOffset ?? 0 } == true)
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        @Test func successInsteadOfContinueIsAnError() async throws {
            let server = try HTTPServer { exchange in
                exchange.respond(200, [("Connection", "close")])
                exchange.linger()
            }
            defer { server.stop() }
            let error = await uploadError { try await URLSessionUploader().upload(endless, with: put(server.url())) }
            #expect(error?.code == .truncated)
        }

        @Test func successBeforeTheEndIsSuccessWhenTheRestIsReadToo() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody(atLeast: 1000)
                exchange.respond(200)
                exchange.readBody()
            }
            defer { server.stop() }
            let bytes = pattern(2_000_000)
            let (_, response) = try await URLSessionUploader().upload(MemorySource(bytes), with: put(server.url()))
            #expect(response.statusCode == 200)
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(request.brought(bytes))
        }

        @Test func aServerThatReadsSlowlyGetsEverything() async throws {
            let gate = Latch()
            let server = try HTTPServer { exchange in
                exchange.readBody(atLeast: 1)
                gate.wait()
                exchange.readBody()
                exchange.respond(200)
            }
            defer { server.stop() }
            let bytes = pattern(8_000_000)
            let progress = Recorder<Int64>()
            async let upload = URLSessionUploader().upload(MemorySource(bytes), with: put(server.url())) { offset, _ in
                progress.append(offset)
            }
            await progress.values(count: 3)
            gate.open()
            #expect(try await upload.1.statusCode == 200)
            #expect(await server.requests.values(count: 1)[0].brought(bytes))
        }

        @Test(arguments: modes) func aConnectionThatDiesIsAnError(mode: BlobStreamMode) async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody(atLeast: 100_000)
                exchange.drop()
            }
            defer { server.stop() }
            let error = await uploadError {
                try await URLSessionUploader(mode: mode).upload(endless, with: put(server.url()))
            }
            #expect(error?.code == .unavailable)
            #expect(error?.isTransient == true)
            #expect(error?.byteOffset ?? 0 >= 100_000)
            #expect(error?.cause is URLError)
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [false])
        }

        @Test func aConnectionThatDiesAfterTheBodyIsAnError() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                exchange.drop()
            }
            defer { server.stop() }
            let error = await uploadError {
                try await URLSessionUploader().upload(MemorySource(pattern(1000)), with: put(server.url()))
            }
            #expect(error?.code == .unavailable)
            #expect(error?.byteOffset == 1000)
        }

        /// A connection from before turns out to be dead when the body is on its way: the session begins again.
        @Test(arguments: modes, [1, 60_000, 200_000])
        func aBodyIsSentAgainFromItsStart(mode: BlobStreamMode, byteCount: Int) async throws {
            let server = try serverWhoseSecondRequestDies()
            defer { server.stop() }
            let uploader = URLSessionUploader(mode: mode)
            let bytes = pattern(byteCount)
            for _ in 1...2 { _ = try await uploader.upload(MemorySource(bytes), with: put(server.url())) }
            // Data would go on where they stopped, so that attempt is given up.
            let givenUpCount = byteCount <= announcedByteLimit && announcedByteLimit < .max ? 1 : 0
            let requests = await server.requests.values(count: 3 + givenUpCount)
            // They come on two connections: the server may see the end of either first.
            let arrivals = requests.map { $0.brought(bytes) }
            #expect(arrivals.starts(with: [true, true]))
            #expect(arrivals.count { !$0 } == givenUpCount)
        }

        @Test func aBodyThatCannotBeSentAgainIsAnError() async throws {
            let server = try serverWhoseSecondRequestDies()
            defer { server.stop() }
            let uploader = URLSessionUploader()
            let pipe = BlobPipe()
            try pipe.write(pattern(1000), context: BlobContext())
            pipe.finish()
            _ = try await uploader.upload(MemorySource(pattern(10)), with: put(server.url()))
            let error = await uploadError { try await uploader.upload(pipe.source, with: put(server.url())) }
            #expect(error?.code == .unsupported)
        }

        @Test func nobodyThereIsUnavailable() async throws {
            let server = try HTTPServer()
            server.stop()
            var url = try #require(URLComponents(url: server.url("/x"), resolvingAgainstBaseURL: false))
            (url.user, url.password, url.query) = ("me", "secret", "signature=secret")
            let request = put(try #require(url.url))
            let error = await uploadError {
                try await URLSessionUploader().upload(MemorySource(pattern(1)), with: request)
            }
            #expect(error?.code == .unavailable)
            #expect(error?.isTransient == true)
            #expect(error?.cause is URLError)
            #expect(error?.description.contains("secret") == false)
        }
    }
}

private func serverWhoseSecondRequestDies() throws -> HTTPServer {
    try HTTPServer { exchange in
        exchange.readBody(continuing: exchange.number != 1)
        if exchange.number == 1 { exchange.drop() } else { exchange.respond(200) }
    }
}

private let endlessByteCount: Int64 = 1 << 30

/// More than all buffers on the way can hold.
private let endless = ClosureSource(info: BlobInfo(byteCount: endlessByteCount)) { offset, output, _ in
    let count = min(output.freeCapacity, Int(endlessByteCount - offset))
    output.append(repeating: 0, count: count, as: UInt8.self)
}
