import BlobReceiving
import BlobStreams
import NIOCore
import NIOHTTP1
import NIOPosix

/// Listens for connections, and gives each a ``ReceivingHandler``.
struct ReceivingServer {
    struct Settings: Sendable {
        let folder: String?
        let maximumByteCount: Int64?
        let idleTimeout: Double
        let headerTimeout: Double
    }

    /// The maximum number of connections, more than experiments and tests need; further ones are closed.
    private static let maximumConnectionCount = 512

    /// The maximum number of bytes of one read from a connection; large pieces are hashed and stored faster.
    private static let receiveByteCount = 256 * 1024

    private let settings: Settings
    private let connectionCount = Locked(0)

    init(_ settings: Settings) { self.settings = settings }

    /// Serves for ever. Calls `print` with the URL, then on threads of a pool with the lines of each request.
    func run(host: String, port: Int, print: @escaping @Sendable (String) -> Void) throws {
        let (settings, connectionCount) = (self.settings, self.connectionCount)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let channel = try ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: 256)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(
                .recvAllocator, value: FixedSizeRecvByteBufferAllocator(capacity: Self.receiveByteCount)
            )
            // A sender may end its direction of the connection after its request, and still expect the answer.
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
