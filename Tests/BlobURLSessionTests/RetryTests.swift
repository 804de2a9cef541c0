import BlobStreams
import BlobStreamsTesting
import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

extension URLSessionTests {
    /// Bodies that are asked for twice: authentication and redirections.
    @Suite(.serialized) struct RetryTests {
        // MARK: Authentication

        @Test(arguments: modes, [true, false])
        func authenticationIsTheAnswer(mode: BlobStreamMode, readsFirst: Bool) async throws {
            let server = try HTTPServer { exchange in
                if readsFirst { exchange.readBody() }
                if exchange.authenticate() { exchange.respond(200) }
                if !readsFirst { exchange.linger() }
            }
            defer { server.stop() }
            let (answer, response) = try await URLSessionUploader(mode: mode).upload(
                MemorySource(pattern(3_000_000)), with: put(server.url()))
            #expect(response.statusCode == 401)
            #expect(answer == Data("Who are you?".utf8))
            #expect(await server.requests.values(count: 1).map(\.isBodyComplete) == [readsFirst])
        }

        @Test func whoAuthenticatesFromTheBeginningSendsTheBodyOnce() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                if exchange.authenticate() { exchange.respond(200) }
            }
            defer { server.stop() }
            var request = put(server.url())
            request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            let (_, response) = try await URLSessionUploader().upload(MemorySource(pattern(1000)), with: request)
            #expect(response.statusCode == 200)
            #expect(await server.requests.values(count: 1)[0].brought(pattern(1000)))
        }

        // MARK: Redirections

        @Test(arguments: [301, 302, 307, 308], ["PUT", "POST"])
        func aRedirectionThatNeedsTheBodyAgainIsTheAnswer(status: Int, method: String) async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                if exchange.request.path == "/" {
                    exchange.respond(status, [("Location", "/there")], body: Data("over there".utf8))
                } else {
                    exchange.respond(200)
                }
            }
            defer { server.stop() }
            let source = MemorySource(pattern(100_000))
            let uploader = URLSessionUploader()
            let (answer, response) = try await uploader.upload(source, with: put(server.url(), method: method))
            #expect(response.statusCode == status)
            #expect(answer == Data("over there".utf8))
            // What a caller does who wants to follow.
            let location = try #require(response.value(forHTTPHeaderField: "Location"))
            let there = try #require(URL(string: location, relativeTo: response.url))
            let (_, second) = try await uploader.upload(source, with: put(there, method: method))
            #expect(second.statusCode == 200)
            let requests = await server.requests.values(count: 2)
            #expect(requests.map(\.path) == ["/", "/there"])
            #expect(requests.map { $0.brought(pattern(100_000)) } == [true, true])
        }

        @Test func aRedirectionThatNamesNoPlaceIsTheAnswer() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                exchange.respond(307)
            }
            defer { server.stop() }
            let (_, response) = try await URLSessionUploader().upload(
                MemorySource(pattern(10)), with: put(server.url()))
            #expect(response.statusCode == 307)
        }

        @Test func seeOtherIsFollowedWithoutTheBody() async throws {
            let server = try HTTPServer { exchange in
                exchange.readBody()
                if exchange.request.method == "GET" {
                    exchange.respond(200, body: Data("done".utf8))
                } else {
                    exchange.respond(303, [("Location", "/result")], body: Data("see there".utf8))
                }
            }
            defer { server.stop() }
            var request = put(server.url(), method: "POST")
            request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            let (answer, response) = try await URLSessionUploader().upload(
                MemorySource(pattern(100_000)), with: request)
            #expect(response.statusCode == 200)
            #expect(answer == Data("done".utf8))
            let requests = await server.requests.values(count: 2)
            #expect(requests.map(\.method) == ["POST", "GET"])
            #expect(requests.map(\.path) == ["/", "/result"])
            #expect(requests[0].brought(pattern(100_000)))
            #expect(requests[1].body.isEmpty)
            #expect(requests[1].values(of: "Transfer-Encoding").isEmpty)
            #expect(requests[1].values(of: "Content-Type").isEmpty)
            #expect(requests[1].value(of: "Authorization") == "Bearer x")
        }

        @Test func secretsStayWithTheirHost() async throws {
            let other = try HTTPServer()
            defer { other.stop() }
            let location = other.url("/result").absoluteString
            let server = try HTTPServer { exchange in
                exchange.readBody()
                exchange.respond(303, [("Location", location)])
            }
            defer { server.stop() }
            var request = put(server.url(), method: "POST")
            request.setValue("Bearer x", forHTTPHeaderField: "Authorization")
            request.setValue("a=b", forHTTPHeaderField: "Cookie")
            let (_, response) = try await URLSessionUploader().upload(MemorySource(pattern(10)), with: request)
            #expect(response.statusCode == 200)
            let received = try #require(await other.requests.values(count: 1).first)
            #expect(received.values(of: "Authorization").isEmpty)
            #expect(received.values(of: "Cookie").isEmpty)
        }
    }
}
