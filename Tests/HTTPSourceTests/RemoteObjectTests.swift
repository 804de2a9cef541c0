import BlobPlatform
import BlobStreams
import BlobTestSupport
import Foundation
import HTTPSource
import HTTPTestSupport
import Testing

@testable import BlobTransfer

/// The engine of remote objects, with requests of another kind, and with connections that break.
@Suite(.timeLimit(.minutes(5))) struct RemoteObjectTests {
    /// Requests that are signed on another thread.
    private struct SignedRequests: RemoteRequests {
        let url: TransferURL
        let scheme = "http"
        let conditionField = "If-Match"

        func makeRequest(
            _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void
        ) {
            Thread.detachNewThread {
                var request = TransferRequest(self.url, fields: fields)
                request.privateFields = [BlobHTTPField("Authorization", "\(fields.count)")]
                completion(.success(request))
            }
        }

        func name(_ head: ResponseHead) -> String? { "key" }
    }

    /// Makes an answer of 1 GiB, of which the head is known.
    private static func makeBody(isStream: Bool) throws -> RemoteBody {
        let body = RemoteBody(
            (0, nil), isStream: isStream, SignedRequests(url: try TransferURL("http://localhost/")), Relocation(),
            classify: { _, _ in .range(0..<1 << 30) }, onEnd: { _, _ in })
        _ = try body.begin(ResponseHead())
        return body
    }

    /// The owner of a stream could change bytes that another reader had taken before.
    @Test func bytesThatAnotherReaderMayHaveTakenAreNotGivenAway() throws {
        let body = try Self.makeBody(isStream: false)
        let bytes = [UInt8](repeating: 1, count: 100_000)
        #expect(bytes.withUnsafeBytes { body.receive($0) })
        #expect(body.readBytes(at: 65_536, isOwner: false)?.count == 34_464)
        #expect(body.becomeStream(at: 0))
        #expect(bytes.withUnsafeBytes { body.receive($0) })
        #expect(body.readBytes(at: 65_536, isOwner: true)?.isExclusive == false)
        #expect(body.readBytes(at: 100_000, isOwner: true)?.isExclusive == true)
    }

    /// The bytes before the offset of a reader can fill an answer between its read and its wait.
    @Test func aPausedAnswerDoesNotWaitForAReaderThatWaitsForIt() throws {
        let body = try Self.makeBody(isStream: true)
        func step() throws -> RemoteBody.Step {
            var storage = [UInt8](repeating: 0, count: 100)
            return try storage.withUnsafeMutableBytes { storage in
                var output = OutputRawSpan(buffer: storage, initializedCount: 0)
                return try body.read(at: 1 << 29, isOwner: true, into: &output)
            }
        }
        let slot = BlobWakerSlot()
        body.join(slot)
        guard case .notYet = try step() else { throw BlobError(.internalError, "There are bytes.") }
        let bytes = [UInt8](repeating: 1, count: 100_000)
        while bytes.withUnsafeBytes({ body.receive($0) }) {}
        body.flush()  // As after each piece of an answer.
        let signal = WaitSignal()
        slot.store(BlobWaker { signal.signal() })
        #expect(signal.wait(for: .seconds(0)))
        _ = try step()
        #expect(bytes.withUnsafeBytes { body.receive($0) })
    }

    @Test func requestsMayBeMadeElsewhere() throws {
        let bytes = makeContent(1_000_000)
        let server = try ObjectServer(bytes)
        let object = RemoteObject(SignedRequests(url: try TransferURL(server.url)))
        let info = try object.describe(BlobContext())
        #expect(info.name == "key" && info.byteCount == 1_000_000)
        func readAll() throws -> [UInt8] {
            let stream = try object.makeStream(BlobOpening(context: BlobContext()))
            defer { stream.close() }
            var found: [UInt8] = []
            while true {
                let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 10_000, alignment: 1)
                defer { buffer.deallocate() }
                var output = OutputRawSpan(buffer: buffer, initializedCount: 0)
                let result = try stream.read(at: Int64(found.count), into: &output)
                found += buffer[..<output.finalize(for: buffer)]
                if result == .end { return found }
                let signal = WaitSignal()
                if result == .notYet {
                    stream.readiness?.store(BlobWaker { signal.signal() })
                    try #require(signal.wait(for: .seconds(60)))
                }
            }
        }
        #expect(try readAll() == bytes)
        #expect(server.requests.map { $0.fields["authorization"] } == ["1", "2"])
        #expect(server.requests.last?.fields["if-match"] == "\"one\"")
        server.object.tag = "\"two\""
        #expect(codeThrown(by: readAll) == .changed)
    }

    /// Each connection ends after some bytes; reading goes on where it was, and fetches little twice.
    @Test func aReaderSurvivesConnectionsThatBreak() throws {
        let bytes = makeContent(32 << 20)
        let cuts = Locked(0)
        let server = try ObjectServer(bytes) { number, request, connection in
            guard number > 0, cuts.withLock({ $0 < 30 }) else { return false }
            var object = ObjectServer.Object(bytes)
            object.lines = ["Connection: close"]
            let (head, body) = ObjectServer.answer(request, object)
            guard body.count > 1 << 20 else { return false }
            cuts.withLock { $0 += 1 }
            connection.send(head)
            connection.send(Array(body.prefix(1_000_000)))
            return true
        }
        let rules = BlobRetry(maximumDelays: .zero ... .zero)
        let source = try HTTPSource(server.url).layered { $0.retry = rules }
        #expect(try readAll(source.open()) == bytes)
        #expect(cuts.withLock { $0 } >= 15)
        #expect(server.sentByteCount + cuts.withLock { $0 } * 1_000_000 < (32 << 20) * 108 / 100)
    }

    @Test func contentRangesAreReadOrRefused() {
        #expect(ContentRange("bytes 0-9/10")?.bytes == 0..<10)
        #expect(ContentRange("Bytes 5-5/*")?.bytes == 5..<6)
        #expect(ContentRange("bytes */10")?.byteCount == 10)
        for text in [
            "", "bytes", "bytes 0-9", "bytes 0-10/10", "bytes 9-8/10", "bytes -1-2/10", "bytes 0-9/-10", "lines 0-9/10",
            "bytes 0-9/10/10", "bytes 0--9/10", "bytes +0-9/10", "bytes 0-99999999999999999999/*", "bytes 0-9/",
            "bytes 0-9223372036854775807/*",
        ] { #expect(ContentRange(text) == nil, "\(text)") }
    }

    @Test func urlsAreSplitAsTheyAreConnectedTo() throws {
        let url = try TransferURL("HTTP://us%40er:p%3Aw@Example.COM/a/../b%20c?q=1#f")
        #expect(url.credentials == BlobTransferSettings.Credentials(user: "us@er", password: "p:w"))
        #expect(url.text == "http://Example.COM/a/../b%20c?q=1")
        #expect(url.origin == (try TransferURL("http://example.com:80/")).origin)
        #expect(url.origin != (try TransferURL("https://example.com/")).origin)
        #expect("\(url)" == "http://Example.COM/a/../b%20c?***")
        #expect(try url.resolving("//other/x y").text == "http://other/x%20y")
        #expect(try url.resolving("?z").path == "/b%20c")
        #expect(throws: BlobError.self) { try url.resolving("http:///other/") }
        #expect(try TransferURL("http://h/?u=file:///x").text == "http://h/?u=file:///x")
    }
}
