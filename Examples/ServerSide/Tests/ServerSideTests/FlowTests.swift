import BlobReceiving
import BlobStreams
import BlobStreamsHummingbird
import Foundation
import Hummingbird
import HummingbirdTesting
import NIOPosix
import Testing

/// The flow of bytes between a connection and a service, and its ends.
@Suite(.timeLimit(.minutes(1))) struct FlowTests {
    /// The length of a body, far more than connections and channels buffer.
    private static let byteCount = 128 << 20

    /// The limit for the bytes in the buffers of the system and of SwiftNIO.
    private static let bufferedByteCount = 24 << 20

    private func head(_ method: String, _ path: String, byteCount: Int = 0) -> ByteBuffer {
        let fields = "Host: x\r\nConnection: close\r\nContent-Length: \(byteCount)\r\n"
        return ByteBuffer(string: "\(method) \(path) HTTP/1.1\r\n\(fields)\r\n")
    }

    @Test func aSlowServiceHoldsBackTheSender() async throws {
        let service = FlowService()
        let pool = NIOThreadPool(numberOfThreads: 4)
        pool.start()
        let sent = Counter()
        try await makeApplication(service, pool).test(.live) { client in
            @Sendable func send(to path: String, counting counter: Counter) async throws -> String {
                try await withConnection(to: client.port) { connection in
                    let block = ByteBuffer(repeating: 7, count: 1 << 20)
                    try await connection.send(self.head("PUT", path, byteCount: Self.byteCount))
                    for _ in 0..<(Self.byteCount >> 20) {
                        try await connection.send(block)
                        counter.add(block.readableBytes)
                    }
                    return try await connection.readAll()
                }
            }
            async let slow = send(to: "/slow", counting: sent)
            // Meanwhile, a whole body passes to a service that is not slow.
            let fast = try await send(to: "/fast", counting: Counter())
            #expect(fast.hasSuffix("\r\n\r\n\(Self.byteCount)"))
            #expect(sent.value < Self.bufferedByteCount)
            service.gate.signal()
            let answer = try await slow
            #expect(answer.hasSuffix("\r\n\r\n\(Self.byteCount)"))
        }
        try await pool.shutdownGracefully()
    }

    @Test func aSlowClientHoldsBackTheSource() async throws {
        let service = FlowService()
        try await makeApplication(service).test(.live) { client in
            try await withConnection(to: client.port) { slow in
                try await slow.send(self.head("GET", "/zeros/slow"))
                // Meanwhile, another client reads the whole body.
                let count = try await withConnection(to: client.port) { fast in
                    try await fast.send(self.head("GET", "/zeros/fast"))
                    return try await fast.countAll()
                }
                #expect(count > Self.byteCount)
                #expect((1..<Self.bufferedByteCount).contains(service.readCount("/zeros/slow")))
                #expect(try await slow.countAll() == count)
            }
        }
    }

    @Test func anUnreadableSourceIsAnError() async throws {
        try await makeApplication(FlowService()).test(.live) { client in
            let response = try await client.execute(uri: "/failing", method: .get)
            #expect(response.status == .notFound)
        }
    }

    /// A client must not take the bytes before an error for the whole body.
    @Test func aSourceThatFailsEndsTheConnection() async throws {
        try await makeApplication(FlowService()).test(.live) { client in
            let text = try await exchange("GET /breaking HTTP/1.1\r\nHost: x\r\n\r\n", client)
            #expect(text.hasPrefix("HTTP/1.1 200 ") && text.hasSuffix("some bytes\r\n"))
        }
    }

    /// If the task is cancelled, a body that middleware made may end without an error, as if it were complete.
    @Test func aCancelledRequestIsAbandoned() async throws {
        let service = ObservedService(FlowService())
        let (chunks, continuation) = AsyncStream.makeStream(of: ByteBuffer.self)
        let head = HTTPRequest(method: .put, scheme: nil, authority: nil, path: "/fast")
        let request = Request(head: head, body: RequestBody(asyncSequence: chunks))
        let task = Task { try await service.response(to: request) }
        continuation.yield(ByteBuffer(string: "abc"))
        await service.wait { $0.byteCount == 3 }
        task.cancel()
        await #expect(throws: CancellationError.self) { try await task.value }
        #expect(service.state.abandonedCount == 1 && service.state.answeredCount == 0)
    }

    @Test func aServiceAnswersBesideOtherRoutes() async throws {
        let router = Router()
        router.get("hello") { _, _ in "hello" }
        router.on("**", service: FlowService())
        try await Application(router: router).test(.router) { client in
            let hello = try await client.execute(uri: "/hello", method: .get)
            #expect(String(buffer: hello.body) == "hello")
            let count = try await client.execute(uri: "/a/b", method: .put, body: ByteBuffer(string: "abc"))
            #expect(String(buffer: count.body) == "3")
        }
    }
}

/// A service that answers with the length of the body, or with a body for the path.
private final class FlowService: RequestService {
    /// Opened for the first bytes of the body at `/slow`.
    let gate = DispatchSemaphore(value: 0)
    private let readCounts = ["/zeros/slow": Counter(), "/zeros/fast": Counter()]

    func readCount(_ path: String) -> Int { self.readCounts[path]?.value ?? 0 }

    func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver {
        if let counter = self.readCounts[head.target] {
            let zeros = ZeroSource(byteCount: 128 << 20, counter: counter)
            return AnsweredRequest(RequestAnswer(status: 200, fields: [], body: zeros, byteCount: 128 << 20))
        }
        if let source = Self.failingSource(head.target) {
            return AnsweredRequest(RequestAnswer(status: 200, fields: [], body: source, byteCount: nil))
        }
        return Receiver(head.target == "/slow" ? self.gate : nil)
    }

    private static func failingSource(_ path: String) -> AsyncSequenceSource? {
        guard path == "/failing" || path == "/breaking" else { return nil }
        return AsyncSequenceSource(chunks: {
            AsyncThrowingStream<Data, any Error> { chunks in
                if path == "/breaking" { chunks.yield(Data("some bytes".utf8)) }
                chunks.finish(throwing: BlobError(.notFound, "The source is missing."))
            }
        })
    }

    private final class Receiver: BodyReceiver {
        private var gate: DispatchSemaphore?
        private var byteCount = 0

        init(_ gate: DispatchSemaphore?) { self.gate = gate }

        func receive(_ bytes: UnsafeRawBufferPointer) {
            self.gate?.wait()
            self.gate = nil
            self.byteCount += bytes.count
        }

        func answer() -> RequestAnswer { RequestAnswer(status: 200, text: "\(self.byteCount)") }
    }
}

/// A source of zeros that counts the bytes that are read.
private struct ZeroSource: BlobInputStreamDataSource {
    let byteCount: Int
    let counter: Counter

    var traits: BlobTraits { [.repeatable, .concurrentReaders] }

    func describe(_ context: BlobContext) -> BlobInfo { BlobInfo(byteCount: Int64(self.byteCount)) }

    func makeBody(_ opening: BlobOpening) -> BlobBody {
        .positional(self.describe(opening.context)) { byteOffset, output in
            let count = min(self.byteCount - Int(byteOffset), output.freeCapacity)
            for _ in 0..<max(count, 0) { output.append(0) }
            self.counter.add(max(count, 0))
        }
    }
}
