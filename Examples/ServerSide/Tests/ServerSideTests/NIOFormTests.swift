import BlobCore
import CryptoDigest
import Foundation
import NIOCore
import Testing

/// The example without a framework, as a process.
@Suite(.timeLimit(.minutes(1))) struct NIOFormTests {
    @Test func aFormIsAnsweredWithItsDigests() async throws {
        let process = Process()
        process.executableURL = productsFolder.appendingPathComponent("NIOForm")
        let output = Pipe()
        process.standardOutput = output
        try process.run()
        defer { process.terminate() }
        let url = String(decoding: output.fileHandleForReading.availableData, as: UTF8.self)
        let port = URLComponents(string: url.trimmingCharacters(in: .whitespacesAndNewlines))?.port
        let bytes = makeBytes(3_000_000)
        var form = ByteBuffer(string: "--b\r\nContent-Disposition: form-data; name=\"a\"\r\n\r\n1\r\n--b\r\n")
        form.writeString("Content-Disposition: form-data; name=\"film\"; filename=\"film.mov\"\r\n\r\n")
        form.writeBytes(bytes)
        form.writeString("\r\n--b--\r\n")
        func head(_ type: String, _ fields: String = "") -> ByteBuffer {
            ByteBuffer(
                string: "POST / HTTP/1.1\r\nHost: x\r\nContent-Type: \(type)\r\n\(fields)"
                    + "Content-Length: \(form.readableBytes)\r\n\r\n")
        }
        // A refused body, a malformed one, and a form, on one connection.
        let text = try await withConnection(to: port) { connection in
            for (type, fields) in [
                ("text/plain", ""), ("multipart/form-data; boundary=c", ""),
                ("multipart/form-data; boundary=b", "Connection: close\r\n"),
            ] {
                try await connection.send(head(type, fields))
                try await connection.send(form)
            }
            return try await connection.readAll()
        }
        #expect(text.components(separatedBy: "HTTP/1.1 ").dropFirst().map { $0.prefix(3) } == ["415", "413", "200"])
        let digests = [Array("1".utf8), bytes].map { bytes in
            var hasher = CryptoDigest.sha256.makeHasher()
            bytes.withUnsafeBytes { hasher.update($0) }
            return hasher.finalizeHexadecimal()
        }
        #expect(text.hasSuffix("\r\n\r\n\(digests[0]) 1 a\n\(digests[1]) 3000000 film\n"))
    }
}

/// The folder of the package's programs, which lie beside its tests.
private var productsFolder: URL {
    let bundle = Bundle.allBundles.first { $0.bundlePath.hasSuffix(".xctest") }
    let executable = bundle?.bundleURL ?? URL(fileURLWithPath: CommandLine.arguments[0])
    return executable.resolvingSymlinksInPath().deletingLastPathComponent()
}
