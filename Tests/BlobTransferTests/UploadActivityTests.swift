import BlobStreams
import BlobTestSupport
import BlobTransfer
import Foundation
import Testing

/// What an observer is told of an upload.
@Suite struct UploadActivityTests {
    @Test func anUploadIsObservedWithItsRequestsAndItsSource() async throws {
        let (count, heads) = (Locked(0), Locked<[String]>([]))
        let server = try ScriptedServer { connection in
            connection.receiveBody(200_000)
            let number = count.withLock { count in
                count += 1
                return count
            }
            let status = number == 1 ? "503 Busy\r\nRetry-After: 0" : "200 OK"
            connection.send("HTTP/1.1 \(status)\r\nContent-Length: 0\r\nConnection: close\r\n\r\n")
            heads.withLock { $0.append(String(decoding: connection.received.prefix(1000), as: UTF8.self)) }
        }
        let recorder = ActivityRecorder()
        var request = BlobUploadRequest(.put, server.url.replacing("://", with: "://user:s3cret@") + "?sig=s3cret")
        request.maximumRetryCount = 2
        let body = [UInt8](repeating: 7, count: 200_000)
        _ = try await BlobUploader().upload(MemorySource(body), with: request, context: recorder.context)
        let ended = recorder.ended.withLock { $0 }
        #expect(recorder.begun.withLock { $0 } == ended.count)
        let upload = try #require(ended.last { $0.kind == .upload })
        #expect(upload.name == "PUT" && upload.error == nil && upload.parents == ["job"])
        let requests = ended.filter { $0.kind == .request }
        #expect(requests.map(\.state.status) == [503, 200] && requests.allSatisfy { $0.parents == ["PUT", "job"] })
        #expect(requests.last?.state.sentByteCount == 200_000)
        #expect(ended.contains { $0.name == "MemorySource" && $0.state.readByteCount == 200_000 })
        #expect(recorder.events.withLock { $0.contains { $0.0.kind == .recovering && $0.0.attempt == 1 } })
        #expect(!"\(ended)".contains("s3cret"))
        #expect(heads.withLock { $0.count { $0.contains("traceparent: 00-PUT") } } == 2)
    }
}
