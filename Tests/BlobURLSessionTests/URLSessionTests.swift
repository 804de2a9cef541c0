import BlobStreams
import BlobURLSession
import Foundation
import Testing

/// One after the other: on Linux all sessions of a process share one queue, on which these tests have sources wait.
@Suite(.serialized, .timeLimit(.minutes(10))) struct URLSessionTests {}

/// The first bytes of a pattern in which each tells its place. At most 8 million.
func pattern(_ count: Int) -> Data { allBytes.prefix(count) }

private let allBytes = Data((0..<8_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31 >> 3 ^ $0 >> 13) })

func put(_ url: URL, method: String = "PUT") -> URLRequest {
    var request = URLRequest(url: url)
    request.httpMethod = method
    return request
}

/// Both, for tests that take either.
let modes: [BlobStreamMode] = [.synchronous, .asynchronous]

/// The error that `body` throws, as the uploader's callers get it.
func uploadError(_ body: () async throws -> some Any) async -> BlobError? {
    do {
        _ = try await body()
        return nil
    } catch let error as BlobError {
        return error
    } catch {
        Issue.record("not a BlobError: \(error)")
        return nil
    }
}

extension HTTPExchange {
    /// Asks for authentication, unless the request has it.
    func authenticate() -> Bool {
        if self.request.value(of: "Authorization") != nil { return true }
        self.respond(401, [("WWW-Authenticate", "Basic realm=\"test\"")], body: Data("Who are you?".utf8))
        return false
    }
}
