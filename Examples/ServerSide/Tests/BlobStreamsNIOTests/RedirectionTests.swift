import AsyncHTTPClient
import BlobStreams
import BlobStreamsNIO
import Foundation
import GzipSource
import NIOConcurrencyHelpers
import NIOHTTP1
import Testing

/// The redirections that an upload follows.
@Suite(.timeLimit(.minutes(1))) struct RedirectionTests {
    @Test(arguments: [HTTPResponseStatus.temporaryRedirect, .permanentRedirect])
    func aRedirectionIsFollowedWithAFreshBody(_ status: HTTPResponseStatus) async throws {
        let source = PatternSource(byteCount: 1 << 20)
        let answer: @Sendable (HTTPRequestHead) -> TestServer.Answer = { head in
            // The first response arrives in the middle of the body.
            head.uri == "/x"
                ? TestServer.Answer(status: status, headers: ["Location": "/y?z=1"], afterByteCount: 1)
                : TestServer.Answer()
        }
        try await withServer(answer) { server, client in
            var request = put(server)
            request.headers.add(name: "Authorization", value: "Bearer 1")
            #expect(try await client.upload(source, as: request).status == .created)
            let last = try #require(await server.requests(2).first { $0.head.uri == "/y?z=1" })
            #expect(last.isWhole && last.bytes == source.checked && last.head.method == .PUT)
            #expect(last.head.headers["Authorization"] == ["Bearer 1"])
        }
    }

    @Test func aRedirectionToAnotherOriginIsFollowedOnlyIfAllowedAndWithoutCredentials() async throws {
        let source = PatternSource(byteCount: 10)
        try await withServer { other, _ in
            let url = other.url("/y")
            let answer = TestServer.Answer(status: .temporaryRedirect, headers: ["Location": url])
            try await withServer({ _ in answer }) { server, client in
                var request = put(server)
                request.headers.add(contentsOf: ["Authorization": "Bearer 1", "X-Note": "2"])
                let error = await failure { () async throws(BlobError) in
                    try await client.upload(source, as: request)
                }
                #expect(error?.code == .refused && error?.message.contains("not followed") == true)
                _ = try await client.upload(source, as: request, followingOtherOrigins: true)
                let last = try #require(await other.requests(1).first)
                #expect(last.isWhole && last.head.headers["Authorization"] == [])
                #expect(last.head.headers["X-Note"] == ["2"])
            }
        }
    }

    /// A body that is compressed while it is sent is made again, and is the same, for each request.
    @Test func aCompressedBodyIsMadeAgainForRedirectionsAndRetries() async throws {
        let source = PatternSource(byteCount: 3_000_001)
        let gzip = GzipEncodedSource(source)
        var compressed = ByteChecksum()
        for try await chunk in gzip.chunks() { chunk.withUnsafeBytes { compressed.add($0) } }
        let count = Counter()
        let answer: @Sendable (HTTPRequestHead) -> TestServer.Answer = { head in
            if head.uri == "/x" {
                return TestServer.Answer(status: .temporaryRedirect, headers: ["Location": "/y"], afterByteCount: 1)
            }
            return TestServer.Answer(status: count.next() < 2 ? .serviceUnavailable : .created)
        }
        try await withServer(answer) { server, client in
            var request = put(server)
            request.headers.add(name: "Content-Encoding", value: "gzip")
            var attempts = 0
            var response: HTTPClientResponse?
            while response == nil, attempts < 5 {
                attempts += 1
                do throws(BlobError) {
                    response = try await client.upload(gzip, as: request)
                } catch {
                    #expect(error.code == .refused && error.isTransient, "\(error)")
                }
            }
            #expect(response?.status == .created && attempts == 2)
            let whole = await server.requests(4).filter { $0.head.uri == "/y" }
            #expect(whole.count == 2 && whole.allSatisfy { $0.isWhole && $0.bytes == compressed })
            #expect(whole.allSatisfy { $0.head.headers["Content-Encoding"] == ["gzip"] })
            #expect(compressed.count < source.byteCount)
        }
    }

    @Test func redirectionsAreBounded() async throws {
        let count = Counter()
        let answer: @Sendable (HTTPRequestHead) -> TestServer.Answer = { _ in
            TestServer.Answer(status: .temporaryRedirect, headers: ["Location": "/\(count.next())"])
        }
        try await withServer(answer) { server, client in
            let error = await failure { () async throws(BlobError) in
                try await client.upload(MemorySource([1]), as: put(server), maximumRedirectionCount: 3)
            }
            #expect(error?.code == .refused && count.next() == 5)
        }
    }

    @Test func aSourceThatCanBeReadOnceIsNotRedirected() async throws {
        let pipe = BlobPipe()
        try await pipe.write(Data([1, 2, 3]))
        pipe.finish()
        let answer = TestServer.Answer(status: .temporaryRedirect, headers: ["Location": "/y"])
        try await withServer({ _ in answer }) { server, client in
            let error = await failure { () async throws(BlobError) in
                try await client.upload(pipe.source, as: put(server))
            }
            #expect(error?.code == .refused)
        }
    }
}

/// Counts from 1.
private final class Counter: Sendable {
    private let count = NIOLockedValueBox(0)

    func next() -> Int {
        self.count.withLockedValue { count in
            count += 1
            return count
        }
    }
}
