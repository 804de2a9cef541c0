import AsyncHTTPClient
import BlobStreams
import NIOHTTP1

/// Runs a test with a server that responds as `answer` specifies.
func withServer<Value>(
    _ answer: @escaping @Sendable (HTTPRequestHead) -> TestServer.Answer? = { _ in TestServer.Answer() },
    _ body: (TestServer, HTTPClient) async throws -> Value
) async throws -> Value {
    let server = try await TestServer(answer: answer)
    let client = HTTPClient(eventLoopGroupProvider: .singleton)
    do {
        let value = try await body(server, client)
        try await client.shutdown()
        try await server.stop()
        return value
    } catch {
        try await client.shutdown()
        try await server.stop()
        throw error
    }
}

func put(_ server: TestServer, _ path: String = "/x") -> HTTPClientRequest {
    var request = HTTPClientRequest(url: server.url(path))
    request.method = .PUT
    return request
}

/// Returns the error of an upload that must fail.
func failure(
    _ upload: () async throws(BlobError) -> HTTPClientResponse
) async -> BlobError? {
    do throws(BlobError) {
        _ = try await upload()
        return nil
    } catch {
        return error
    }
}
