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
        let file = try temporaryFile(pattern(300_000))
        defer { try? FileManager.default.removeItem(at: file) }
        let run = try await upload(file.path, to: server.url("/there").absoluteString)
        #expect(run.status == 0)
        #expect(run.output == "201 thank you\n")
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
        let file = try temporaryFile(pattern(10))
        defer { try? FileManager.default.removeItem(at: file) }
        let refused = try await upload(file.path, to: server.url().absoluteString)
        #expect(refused.status == 76)
        #expect(refused.output == "403 no\n")
        let missing = try await upload("/nonexistent/file", to: server.url().absoluteString)
        #expect(missing.status == 1)
        #expect(missing.output.isEmpty)
        #expect(missing.errors.contains("notFound"))
        #expect(server.requests.values.count == 1)
    }
}

private func temporaryFile(_ bytes: Data) throws -> URL {
    let file = FileManager.default.temporaryDirectory.appendingPathComponent("upload-\(UUID().uuidString)")
    try bytes.write(to: file)
    return file
}

private struct Run: Sendable {
    let status: Int32
    let output: String
    let errors: String
}

private func upload(_ file: String, to url: String) async throws -> Run {
    try await onThread {
        let process = Process()
        process.executableURL = products.appendingPathComponent("UploadFile")
        process.arguments = [file, url]
        var environment = ProcessInfo.processInfo.environment
        // Variables of a main file are never released, which is no leak.
        environment["ASAN_OPTIONS"] = "detect_leaks=0"
        process.environment = environment
        let (output, errors) = (Pipe(), Pipe())
        process.standardOutput = output
        process.standardError = errors
        try process.run()
        // Far less is printed than a pipe holds, so one may be read after the other.
        let texts = [output, errors].map {
            String(decoding: $0.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        }
        process.waitUntilExit()
        return Run(status: process.terminationStatus, output: texts[0], errors: texts[1])
    }
}

/// Where the products are: beside the tests.
private let products: URL = {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let executable = bundle?.bundleURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    return executable.resolvingSymlinksInPath().deletingLastPathComponent()
}()
