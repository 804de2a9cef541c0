import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

/// Servers that others made.
@Suite struct PeerTests {
    @Test func theServerOfPythonIsReadWithoutRanges() throws {
        let folder = try TemporaryFolder()
        let bytes = makeContent(3_000_000)
        try folder.write(bytes, to: "a b.bin")
        let server = try PythonServer(.files(folder.path))
        let source = try HTTPSource("http://127.0.0.1:\(server.port)/a%20b.bin")
        let info = try source.info()
        #expect(info.byteCount == 3_000_000 && info.name == "a b.bin" && !info.isRandomAccess)
        #expect(info.validator?.isStrong == false)
        #expect(try readAll(source.open()) == bytes)
        #expect(try readAll(source.open(at: 2_999_000)) == Array(bytes[2_999_000...]))
        #expect(codeThrown { try HTTPSource("http://127.0.0.1:\(server.port)/no").info() } == .notFound)
    }

    @Test func aServerIsTrustedByAPrivateAuthority() throws {
        let folder = try TemporaryFolder()
        let bytes = makeContent(2_000_000)
        try folder.write(bytes, to: "x")
        let server = try PythonServer(.filesOverTLS(folder.path))
        let url = "https://localhost:\(server.port)/x"
        var options = HTTPSource.Options()
        do {
            _ = try HTTPSource(url, options: options).info()
            Issue.record("An authority that nobody knows is trusted")
        } catch {
            #expect(error.code == .unavailable)
            #expect(!error.isTransient)
        }
        options.certificateFile = PythonServer.authority
        #expect(try readAll(HTTPSource(url, options: options).open()) == bytes)
    }

    @Test func aThousandIdleSourcesNeedOneThread() async throws {
        let server = try PythonServer(.stalled)
        let limit = setDescriptorLimit(4096)
        defer { _ = setDescriptorLimit(limit) }
        let readers = try (0..<1000).map { number in
            try HTTPSource("http://127.0.0.1:\(server.port)/\(number)").open()
        }
        let before = threadCount()
        for reader in readers {
            var bytes = try Data(readingAtMost: 8, from: reader, waits: false)
            while bytes.isEmpty {
                let signal = WaitSignal()
                reader.whenReadable(BlobWaker { signal.signal() })
                try #require(signal.wait(for: .seconds(60)))
                bytes = try Data(readingAtMost: 8, from: reader, waits: false)
            }
            #expect(bytes.count == 1)
            #expect(try Data(readingAtMost: 8, from: reader, waits: false).isEmpty)
            reader.whenReadable(BlobWaker {})
        }
        // Other tests run at the same time, with threads of their own; a thread a source would be a thousand.
        #expect(threadCount() - before < 200)
        for reader in readers {
            #expect(try Data(readingAtMost: 8, from: reader, waits: false).isEmpty)
            reader.close()
        }
    }
}
