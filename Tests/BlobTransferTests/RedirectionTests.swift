import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// Redirections of uploads: where the body goes, and with which fields.
@Suite(.timeLimit(.minutes(1))) struct RedirectionTests {
    /// Uploads to a server that answers its first requests with 307 and this field, and returns the first line of each
    /// request and whether it has the credentials.
    private func requests(
        _ location: [UInt8], redirections: Int = 1
    ) async throws -> (lines: [String], areAuthorized: Bool, code: BlobError.Code?) {
        let requests = Locked<[String]>([])
        let server = try ScriptedServer { connection in
            connection.receiveBody(2)
            let text = String(decoding: connection.received, as: UTF8.self)
            // libcurl may open a connection and leave it.
            guard !text.isEmpty else { return }
            let count = requests.withLock { requests in
                requests.append(text)
                return requests.count
            }
            guard count <= redirections else { return connection.send(created) }
            let port = text.firstMatch(of: /Host: 127.0.0.1:(\d+)/)?.output.1 ?? ""
            let field = Array("HTTP/1.1 307 Go\r\nContent-Length: 0\r\nLocation: ".utf8) + location
            let place = field.split(separator: UInt8(ascii: "$"), omittingEmptySubsequences: false)
            connection.send(Array(place.joined(separator: Array(port.utf8))) + Array("\r\n\r\n".utf8))
        }
        var request = BlobUploadRequest(.put, server.url.replacing("//", with: "//u:p@") + "/y?q")
        request.maximumRedirectionCount = 5
        var code: BlobError.Code?
        do {
            _ = try await upload(MemorySource("hi".utf8), request)
        } catch {
            code = BlobError(wrapping: error).code
        }
        let all = requests.withLock { $0 }
        return (
            all.map { String($0.prefix { $0 != "\r\n" }) },
            all.allSatisfy { $0.contains("\r\nAuthorization: Basic dTpw\r\n") && $0.hasSuffix("\r\n\r\nhi") }, code
        )
    }

    /// RFC 3986, section 5.2.2: the same URL, and never the root of the server.
    @Test(arguments: ["", "#fragment", "?q", "y?q"]) func anEmptyLocationIsTheSameURL(location: String) async throws {
        let once = try await self.requests(Array(location.utf8))
        #expect(once.lines == ["PUT /x/y?q HTTP/1.1", "PUT /x/y?q HTTP/1.1"] && once.areAuthorized)
        #expect(once.code == nil)
        let always = try await self.requests(Array(location.utf8), redirections: .max)
        #expect(always.code == .refused && always.lines.count == 6)
        #expect(Set(always.lines) == ["PUT /x/y?q HTTP/1.1"])
    }

    /// The port of the server is in the place of the `$`.
    @Test(arguments: ["/caf", "caf", "http://127.0.0.1:$/caf", "HTTP://127.1:$/caf", "//2130706433:$/caf"])
    func theBytesOfALocationAreKept(location: String) async throws {
        let latin1 = try await self.requests(Array(location.utf8) + [0xE9])
        let target = location == "caf" ? "/x/caf" : "/caf"
        #expect(latin1.lines.map { $0.lowercased() } == ["put /x/y?q http/1.1", "put \(target)%e9 http/1.1"])
        #expect(latin1.areAuthorized && latin1.code == nil)
    }

    @Test(arguments: ["http://127.0.0.2:$/", "http://127.0.0.1/", "https://127.0.0.1:$/", "http://127.0.0.1.:$/"])
    func anotherOriginGetsNothing(location: String) async throws {
        let refused = try await self.requests(Array(location.utf8))
        #expect(refused.lines.count == 1 && refused.code == .refused)
    }
}
