import BlobReceiving
import BlobStreams
import NIOCore
import NIOHTTP1
import NIOPosix

/// Listens, and gives each connection a ``ReceivingHandler``.
struct ReceivingServer {
    struct Settings: Sendable {
        let folder: String?
        let maximumByteCount: Int64?
        let idleTimeout: Double
        let headerTimeout: Double
    }

    /// More senders at once than a try or a test has; what comes on top is closed.
    private static let maximumConnectionCount = 512

    /// What one read takes from a connection; larger pieces hash and store faster.
    private static let receiveByteCount = 256 * 1024

    private let settings: Settings
    private let connectionCount = Locked(0)

    init(_ settings: Settings) { self.settings = settings }

    /// Serves for ever. `print` gets the URL first, then a line for each part; on threads of the event loops.
    func run(host: String, port: Int, print: @escaping @Sendable (String) -> Void) throws {
        let (settings, connectionCount) = (self.settings, self.connectionCount)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.receiveByteCount)
            )
            // A sender may end its direction of the connection behind its request, and still wants the answer.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let count = connectionCount.withLock { count in
                        count += 1
                        return count
                    }
                    channel.closeFuture.whenComplete { _ in connectionCount.withLock { $0 -= 1 } }
                    guard count <= Self.maximumConnectionCount else { return channel.close(promise: nil) }
                    try channel.pipeline.syncOperations.addHandlers([
                        HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder()),
                        ReceivingHandler(settings, print),
                    ])
                }
            }
            .bind(host: host, port: port).wait()
        let address = channel.localAddress
        let name = host.contains(":") ? "[\(host)]" : host
        print("http://\(name):\(address?.port ?? port)/")
        try channel.closeFuture.wait()
    }
}
