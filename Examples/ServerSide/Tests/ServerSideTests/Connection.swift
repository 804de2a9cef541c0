import BlobReceiving
import BlobStreams
import BlobStreamsHummingbird
import Foundation
import Hummingbird
import HummingbirdTesting
import NIOConcurrencyHelpers
import NIOCore
import NIOPosix
import Testing

/// Returns an application that a service answers.
func makeApplication(
    _ service: any RequestService, _ pool: NIOThreadPool = .singleton
) -> Application<RequestServiceResponder<BasicRequestContext>> {
    Application(
        responder: RequestServiceResponder(service, threadPool: pool),
        configuration: ApplicationConfiguration(address: .hostname("127.0.0.1", port: 0)))
}

func makeBytes(_ count: Int) -> [UInt8] { (0..<count).map { UInt8(truncatingIfNeeded: $0 &* $0 >> 7) } }

/// A connection on which a test itself sends and receives bytes.
struct Connection {
    var inbound: NIOAsyncChannelInboundStream<ByteBuffer>.AsyncIterator
    let channel: any Channel

    /// Sends bytes, and returns once the system has taken them.
    func send(_ bytes: ByteBuffer) async throws { try await self.channel.writeAndFlush(bytes) }

    /// Reads to the end of the connection.
    mutating func readAll() async throws -> String {
        var bytes = ByteBuffer()
        while var more = try await self.inbound.next() { bytes.writeBuffer(&more) }
        return String(buffer: bytes)
    }

    /// Reads to the end of the connection, and returns the number of bytes.
    mutating func countAll() async throws -> Int {
        var count = 0
        while let more = try await self.inbound.next() { count += more.readableBytes }
        return count
    }
}

/// Opens a connection, and closes it after `body`.
func withConnection<Value: Sendable>(
    to port: Int?, _ body: (inout Connection) async throws -> Value
) async throws -> Value {
    let channel = try await ClientBootstrap(group: MultiThreadedEventLoopGroup.singleton)
        .connect(host: "127.0.0.1", port: try #require(port)) { channel in
            channel.eventLoop.makeCompletedFuture {
                try NIOAsyncChannel<ByteBuffer, ByteBuffer>(wrappingChannelSynchronously: channel)
            }
        }
    return try await channel.executeThenClose { inbound, _ in
        var connection = Connection(inbound: inbound.makeAsyncIterator(), channel: channel.channel)
        return try await body(&connection)
    }
}

/// Sends a request, and returns all bytes up to the end of the connection.
func exchange(_ request: String, _ client: any TestClientProtocol) async throws -> String {
    try await withConnection(to: client.port) { connection in
        try await connection.send(ByteBuffer(string: request))
        return try await connection.readAll()
    }
}

final class Counter: Sendable {
    private let box = NIOLockedValueBox(0)

    var value: Int { self.box.withLockedValue { $0 } }

    func add(_ count: Int) { self.box.withLockedValue { $0 += count } }
}

/// A service that passes requests on to another one, and counts what happens to them.
final class ObservedService: RequestService {
    struct State {
        var byteCount = 0
        var answeredCount = 0
        var abandonedCount = 0
    }

    private let base: any RequestService
    private let box = NIOLockedValueBox(State())
    private let (changes, continuation) = AsyncStream.makeStream(of: Void.self, bufferingPolicy: .bufferingNewest(1))

    init(_ base: any RequestService) { self.base = base }

    var state: State { self.box.withLockedValue { $0 } }

    /// Waits for a state. Called by one task.
    func wait(for isReached: (State) -> Bool) async {
        guard !isReached(self.state) else { return }
        for await _ in self.changes where isReached(self.state) { return }
    }

    func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver {
        Receiver(try self.base.receiver(for: head), self)
    }

    private func change(_ change: (inout State) -> Void) {
        self.box.withLockedValue(change)
        self.continuation.yield()
    }

    private final class Receiver: BodyReceiver {
        private let base: any BodyReceiver
        private let service: ObservedService

        init(_ base: any BodyReceiver, _ service: ObservedService) { (self.base, self.service) = (base, service) }

        func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
            try self.base.receive(bytes)
            self.service.change { $0.byteCount += bytes.count }
        }

        func answer() throws(BlobError) -> RequestAnswer {
            let answer = try self.base.answer()
            self.service.change { $0.answeredCount += 1 }
            return answer
        }

        func abandon() {
            self.base.abandon()
            self.service.change { $0.abandonedCount += 1 }
        }
    }
}
