import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// The example runs as a process.
@Suite(.timeLimit(.minutes(10))) struct UploadFileTests {
    @Test func aFileIsUploadedWithProgress() async throws {
        let content = makeContent(300_000)
        let bodies = Locked<[[UInt8]]>([])
        let server = try ScriptedServer { connection in
            connection.receiveBody(content.count)
            bodies.withLock { $0.append(Array(connection.body ?? [])) }
            connection.send(created)
        }
        let folder = try TemporaryFolder()
        let file = try folder.write(content, to: "file")
        let run = try await upload(file, to: server.url)
        #expect(run.status == 0)
        #expect(run.outputText == "201 yes\n")
        #expect(run.errors.hasSuffix("300000 of 300000 bytes\n"))
        #expect(bodies.withLock { $0 == [content] })
    }

    @Test func aRefusalAndAMissingFileAreFailures() async throws {
        let server = try ScriptedServer { connection in
            connection.receiveBody(10)
            connection.send("HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\nno")
        }
        let folder = try TemporaryFolder()
        let file = try folder.write(makeContent(10), to: "file")
        let refused = try await upload(file, to: server.url)
        #expect(refused.status == 76)
        #expect(refused.outputText == "403 no\n")
        let missing = try await upload("/nonexistent/file", to: server.url)
        #expect(missing.status == 66)
        #expect(missing.output.isEmpty)
        #expect(missing.errors.contains("notFound"))
        #expect(server.connectionCount == 1)
    }
}

private func upload(_ file: String, to url: String) async throws -> FinishedProcess {
    try await onThread {
        // Variables of a main file are never released, which is no leak.
        try FinishedProcess(
            productsFolder.appendingPathComponent("Upload").path, ["raw", file, url],
            environment: ["ASAN_OPTIONS": "detect_leaks=0"])
    }
}
