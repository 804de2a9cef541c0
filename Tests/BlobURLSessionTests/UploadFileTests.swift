import BlobTestSupport
import BlobURLSession
import Foundation
import Testing

/// The example runs as a process.
@Suite(.timeLimit(.minutes(10))) struct UploadFileTests {
    @Test func aFileIsUploadedWithProgress() async throws {
        let server = try HTTPServer { exchange in
            exchange.readBody()
            exchange.respond(201, body: Data("thank you".utf8))
        }
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let file = try folder.write(Array(pattern(300_000)), to: "file")
        let run = try await upload(file, to: server.url("/there").absoluteString)
        #expect(run.status == 0)
        #expect(run.outputText == "201 thank you\n")
        #expect(run.errors.hasSuffix("\r300000 of 300000 bytes\n"))
        let request = try #require(await server.requests.values(count: 1).first)
        #expect(request.method == "PUT")
        #expect(request.path == "/there")
        #expect(request.brought(pattern(300_000)))
    }

    @Test func aRefusalAndAMissingFileAreFailures() async throws {
        let server = try HTTPServer { exchange in
            exchange.readBody()
            exchange.respond(403, body: Data("no".utf8))
        }
        defer { server.stop() }
        let folder = try TemporaryFolder()
        let file = try folder.write(Array(pattern(10)), to: "file")
        let refused = try await upload(file, to: server.url().absoluteString)
        #expect(refused.status == 76)
        #expect(refused.outputText == "403 no\n")
        let missing = try await upload("/nonexistent/file", to: server.url().absoluteString)
        #expect(missing.status == 1)
        #expect(missing.output.isEmpty)
        #expect(missing.errors.contains("notFound"))
        #expect(server.requests.values.count == 1)
    }
}

private func upload(_ file: String, to url: String) async throws -> FinishedProcess {
    try await onThread {
        // Variables of a main file are never released, which is no leak.
        try FinishedProcess(
            productsFolder.appendingPathComponent("UploadFile").path, [file, url],
            environment: ["ASAN_OPTIONS": "detect_leaks=0"])
    }
}
