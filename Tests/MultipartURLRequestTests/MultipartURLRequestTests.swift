import BlobStreams
import Foundation
import MultipartFormData
import MultipartURLRequest
import Testing

/// A form as the body of a `URLRequest`.
@Suite struct MultipartURLRequestTests {
    private func makeBody() throws -> MultipartBody {
        var form = MultipartForm()
        try form.appendPart(value: "v", name: "n")
        try form.appendPart(data: Data(count: 100_000), name: "f", fileName: "zeros")
        return try form.body()
    }

    @Test func theRequestPostsTheBodyAsAStream() throws {
        let body = try self.makeBody()
        let url = try #require(URL(string: "http://127.0.0.1/form"))
        let request = URLRequest(posting: body, to: url)
        #expect(request.httpMethod == "POST")
        #expect(request.url == url)
        #expect(request.value(forHTTPHeaderField: "Content-Type") == body.contentType)
        let stream = try #require(request.httpBodyStream)
        #expect(stream.streamStatus == .notOpen)
        stream.open()
        defer { stream.close() }
        var all = Data()
        var buffer = [UInt8](repeating: 0, count: 8192)
        while case let count = stream.read(&buffer, maxLength: buffer.count), count > 0 { all += buffer[..<count] }
        #expect(stream.streamError == nil)
        #expect(Int64(all.count) == body.byteCount)
        #expect(try all == body.data(upTo: all.count))
    }

    #if canImport(FoundationNetworking)
    @Test func thereIsNoLengthBesideTheChunksThatLinuxSends() throws {
        let url = try #require(URL(string: "http://127.0.0.1/form"))
        let request = URLRequest(posting: try self.makeBody(), to: url)
        #expect(request.value(forHTTPHeaderField: "Content-Length") == nil)
    }
    #endif

    @Test(.enabled(if: EchoServer.isPossible, "Python is not there."), .timeLimit(.minutes(10)))
    func aSessionSendsTheBytesOfTheBody() async throws {
        let body = try self.makeBody()
        let server = try EchoServer()
        let url = try #require(URL(string: "http://127.0.0.1:\(server.port)/form"))
        let session = URLSession(configuration: .ephemeral)
        defer { session.finishTasksAndInvalidate() }
        let (echo, response) = try await session.data(for: URLRequest(posting: body, to: url))
        #expect((response as? HTTPURLResponse)?.statusCode == 200)
        #expect(response.mimeType == "multipart/form-data")
        let sent = try await body.data(upTo: 1 << 20)
        let isSame = echo == sent
        #expect(isSame, "\(echo.count) bytes, not \(sent.count)")
    }
}

/// A server that answers one request with its own body and type.
private final class EchoServer {
    static let isPossible = (try? EchoServer()) != nil

    let port: Int
    private let process = Process()

    init() throws {
        self.process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        self.process.arguments = ["python3", "-c", Self.program]
        let output = Pipe()
        self.process.standardOutput = output
        self.process.standardError = FileHandle.nullDevice
        try self.process.run()
        let line = output.fileHandleForReading.availableData
        guard let port = Int(String(decoding: line, as: UTF8.self).trimmingCharacters(in: .newlines)) else {
            throw CocoaError(.fileReadUnknown)
        }
        self.port = port
    }

    // A process may inherit that other signals are blocked.
    deinit { kill(self.process.processIdentifier, SIGKILL) }

    private static let program = """
        import http.server
        class Echo(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                body = b""
                if self.headers["Transfer-Encoding"] == "chunked":
                    assert "Content-Length" not in self.headers
                    while size := int(self.rfile.readline(), 16):
                        body += self.rfile.read(size)
                        self.rfile.readline()
                    self.rfile.readline()
                else:
                    body = self.rfile.read(int(self.headers["Content-Length"]))
                self.send_response(200)
                self.send_header("Content-Type", self.headers["Content-Type"])
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)
            def log_message(self, *arguments): pass
        server = http.server.HTTPServer(("127.0.0.1", 0), Echo)
        print(server.server_address[1], flush=True)
        server.handle_request()
        """
}
