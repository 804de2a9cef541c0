import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

extension URLSessionTests {
    /// Sessions and delegates of one's own, with the helper and with the bare stream.
    @Suite(.serialized) struct OwnSessionTests {
        /// Who owns a session writes something like this.
        private final class Delegate: NSObject, URLSessionDataDelegate, Sendable {
            let body: BlobUploadBody
            let streamCount = Recorder<Bool>()
            let outcome = Recorder<Result<HTTPURLResponse, BlobError>>()

            init(_ body: BlobUploadBody) { self.body = body }

            func urlSession(
                _ session: URLSession, task: URLSessionTask,
                needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
            ) {
                self.streamCount.append(true)
                completionHandler(self.body.makeStream())
            }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
                newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
            ) {
                completionHandler(self.body.redirection(response, to: request))
            }

            func urlSession(
                _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
                completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
            ) {
                let credential = URLCredential(user: "me", password: "secret", persistence: .none)
                let (disposition, used) = self.body.answer(to: challenge, with: credential)
                completionHandler(disposition, used)
            }

            func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
                self.outcome.append(
                    Result { () throws(BlobError) in try self.body.finish(task.response, error: error) })
            }
        }

        /// A task that is given the stream with its request, or asks for it.
        enum Kind: CaseIterable { case data, upload }

        private func send(
            _ source: any BlobInputStreamDataSource, to url: URL, as kind: Kind, mode: BlobStreamMode = .synchronous
        ) async throws -> (Result<HTTPURLResponse, BlobError>, streamCount: Int) {
            let delegate = Delegate(BlobUploadBody(source, mode: mode))
            let session = URLSession(configuration: .ephemeral, delegate: delegate, delegateQueue: nil)
            defer { session.finishTasksAndInvalidate() }
            var request = try delegate.body.prepare(put(url))
            if kind == .data { request.httpBodyStream = delegate.body.makeStream() }
            let task =
                kind == .data ? session.dataTask(with: request) : session.uploadTask(withStreamedRequest: request)
            task.resume()
            let outcome = await delegate.outcome.values(count: 1)[0]
            return (outcome, delegate.streamCount.values.count)
        }

        @Test(arguments: Kind.allCases, modes)
        func theHelperSendsTheBody(kind: Kind, mode: BlobStreamMode) async throws {
            let server = try HTTPServer()
            defer { server.stop() }
            let bytes = pattern(1_000_000)
            let (outcome, _) = try await self.send(MemorySource(bytes), to: server.url(), as: kind, mode: mode)
            #expect(try outcome.get().statusCode == 200)
            let request = try #require(await server.requests.values(count: 1).first)
            #expect(request.brought(bytes))
            #expect(request.values(of: "Content-Length").isEmpty)
        }

        /// With the stream in the request, the session opens that one again: on Linux it then begins at its start.
        @Test(arguments: Kind.allCases, modes)
        func authenticationSendsTheWholeBodyAgain(kind: Kind, mode: BlobStreamMode) async throws {
            let server = try serverThatAsks()
            defer { server.stop() }
            let bytes = pattern(1_000_000)
            let (outcome, streamCount) = try await self.send(
                MemorySource(bytes), to: server.url(), as: kind, mode: mode)
            #expect(try outcome.get().statusCode == 200)
            let requests = await server.requests.values(count: 2)
            #expect(requests.map { $0.brought(bytes) } == [true, true])
            #expect(streamCount == (kind == .data ? 0 : 2))
        }

        @Test(arguments: Kind.allCases, modes)
        func authenticationOfASourceThatIsReadOnceIsAnError(kind: Kind, mode: BlobStreamMode) async throws {
            let server = try serverThatAsks()
            defer { server.stop() }
            let pipe = BlobPipe()
            try await pipe.write(pattern(1000))
            pipe.finish()
            let (outcome, _) = try await self.send(pipe.source, to: server.url(), as: kind, mode: mode)
            #expect(throws: BlobError.self) { try outcome.get() }
            if case .failure(let error) = outcome { #expect(error.code == .unsupported) }
            #expect(await server.requests.values(count: 2).map(\.isBodyComplete) == [true, false])
        }

        /// The first answer comes when part of the body was read: opening that stream again must not send the rest.
        @Test(arguments: Kind.allCases, modes)
        func authenticationInTheMiddleLosesNothing(kind: Kind, mode: BlobStreamMode) async throws {
            let server = try HTTPServer { exchange in
                if exchange.request.value(of: "Authorization") != nil {
                    exchange.readBody()
                    exchange.respond(200)
                } else {
                    exchange.readBody(atLeast: 100_000)
                    exchange.respond(401, [("WWW-Authenticate", "Basic realm=\"test\""), ("Connection", "close")])
                    exchange.linger()
                }
            }
            defer { server.stop() }
            let bytes = pattern(8_000_000)
            let (outcome, _) = try await self.send(MemorySource(bytes), to: server.url(), as: kind, mode: mode)
            let last = try #require(await server.requests.values(count: 2).last)
            switch outcome {
            case .success: #expect(last.brought(bytes))
            case .failure(let error):
                #expect(kind == .data)
                #expect(error.code == .unsupported)
                #expect(!last.isBodyComplete)
            }
        }

        @Test(arguments: Kind.allCases) func aWrongPasswordIsTheAnswer(kind: Kind) async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                exchange.respond(401, [("WWW-Authenticate", "Basic realm=\"test\"")])
            }
            defer { server.stop() }
            let (outcome, _) = try await self.send(MemorySource(pattern(1000)), to: server.url(), as: kind)
            #expect(try outcome.get().statusCode == 401)
            #expect(await server.requests.values(count: 2).count == 2)
        }

        /// Linux would repeat the first request, without its body.
        @Test(arguments: Kind.allCases) func seeOtherIsTheAnswerAfterAuthentication(kind: Kind) async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                if exchange.authenticate() { exchange.respond(303, [("Location", "/result")]) }
            }
            defer { server.stop() }
            let (outcome, _) = try await self.send(MemorySource(pattern(1000)), to: server.url(), as: kind)
            #expect(try outcome.get().statusCode == 303)
            #expect(await server.requests.values(count: 2).map { $0.brought(pattern(1000)) } == [true, true])
        }
    }
}

private func serverThatAsks() throws -> HTTPServer {
    try HTTPServer { exchange in
        exchange.readBody()
        if exchange.authenticate() { exchange.respond(200) }
    }
}
