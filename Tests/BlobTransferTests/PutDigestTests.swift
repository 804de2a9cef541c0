import BlobStreams
import BlobTestSupport
import BlobTransfer
import CryptoDigest
import Foundation
import Testing

/// The digests that a PUT states of a source that knows them, and those that the answer states of what was stored.
@Suite struct PutDigestTests {
    private static let digest = CryptoDigest.sha256.digest(of: Array("abc".utf8))

    /// States its digest, as a source of a web server does.
    private static let source = ClosureSource(
        info: BlobInfo(
            byteCount: 3, validator: .strong("one"), isRandomAccess: true,
            digests: [
                BlobStatedDigest("sha256", digest, origin: "a test"),
                BlobStatedDigest("crc32", [1, 2, 3, 4], origin: "a test"),
            ])
    ) { byteOffset, output, _ in
        for byte in Array("abc".utf8)[Int(byteOffset)...] { output.append(byte) }
    }

    /// Uploads to a server that answers with these lines, and returns the head of the request.
    private func put(
        _ lines: String, _ body: String = "", fields: [BlobHTTPField] = [], method: BlobUploadRequest.Method = .put
    ) async throws -> String {
        let head = Locked("")
        let server = try ScriptedServer { connection in
            connection.receiveBody(3)
            head.withLock { $0 = String(decoding: connection.received, as: UTF8.self) }
            connection.send("HTTP/1.1 \(lines)\r\nContent-Length: \(body.utf8.count)\r\n\r\n\(body)")
        }
        try await upload(Self.source, BlobUploadRequest(method, server.url, fields: fields))
        return head.withLock { $0 }
    }

    private static func field(_ digest: [UInt8]) -> String {
        "Repr-Digest: sha-256=:\(Data(digest).base64EncodedString()):"
    }

    @Test func aPUTStatesWhatTheSourceKnows() async throws {
        #expect(try await self.put("201 Created").contains("\r\n\(Self.field(Self.digest))\r\n"))
        let own = BlobHTTPField("content-md5", "kAFQmDzST7DWlj99KOF/cg==")
        #expect(try await !self.put("201 Created", fields: [own]).contains("Repr-Digest"))
        #expect(try await !self.put("201 Created", method: .post).contains("Repr-Digest"))
    }

    @Test func theAnswerIsCompared() async throws {
        _ = try await self.put("201 Created\r\n\(Self.field(Self.digest))")
        let wrong = Self.field(Self.digest.flipping(bit: 77))
        for status in ["200 OK", "201 Created", "204 No Content"] {
            let code = await asyncCodeThrown { try await self.put("\(status)\r\n\(wrong)") }
            #expect(code == .checksumMismatch)
        }
        // Of an answer with content, the field is about that.
        _ = try await self.put("200 OK\r\n\(wrong)", "stored")
        let line = "{\"byte_count\":3,\"sha256\":\"\(Self.digest.flipping(bit: 77).hexadecimal)\"}\n"
        let code = await asyncCodeThrown {
            try await self.put("201 Created\r\nContent-Type: application/x-ndjson", line)
        }
        #expect(code == .checksumMismatch)
        _ = try await self.put("201 Created\r\nContent-Type: text/plain", line)
    }
}
