#if Receiver
import BlobCommandLine
import BlobCore
import BlobReceiving
import NIOCore
import NIOHTTP1
import NIOPosix

/// A server that listens for connections and assigns a ``ReceivingHandler`` to each.
struct ReceivingServer {
    struct Settings: Sendable {
        let folder: String?
        /// The resumable uploads of the folder; nil without a folder.
        let uploads: ResumableUploads?
        /// The files that were stored in the folder; nil without a folder.
        let storedFiles: StoredFiles?
        let maximumByteCount: Int64
        /// The maximum number of connections. Further connections receive a 503 response.
        let maximumConnectionCount: Int
        let idleTimeout: Double
        /// The minimum average number of body bytes per second over the idle timeout.
        let minimumRate: Int64
        let headerTimeout: Double
    }

    /// The maximum number of concurrent connections beyond the limit that receive a response. Further ones are closed.
    private static let maximumBusyCount = 64

    /// The number of descriptors for a connection: its socket, the file of a part, and the folder.
    private static let descriptorCount = 3

    /// The number of descriptors that the process needs in addition to its connections.
    private static let otherDescriptorCount = 64

    /// The number of connections that may wait to be accepted. The system drops any others, whose senders retry after a
    /// second. More than the default limit may arrive at once.
    private static let backlog: CInt = 1024

    /// The number of bytes of the first read from a connection. NIO copies the whole buffer of this read.
    private static let firstReceiveByteCount = 2048

    /// The maximum number of bytes per read from a connection. Large pieces are hashed and stored faster.
    private static let receiveByteCount = 256 * 1024

    private let settings: Settings
    private let connectionCount = Locked(0)

    init(_ settings: Settings) { self.settings = settings }

    /// Serves until the process ends. Calls `print` with the URL, then on pool threads with the lines for each request.
    func run(host: String, port: Int, print: @escaping @Sendable (String) -> Void) throws {
        let (settings, connectionCount) = (self.settings, self.connectionCount)
        raiseDescriptorLimit(
            to: settings.maximumConnectionCount * Self.descriptorCount + Self.maximumBusyCount
                + Self.otherDescriptorCount)
        let group = MultiThreadedEventLoopGroup(numberOfThreads: System.coreCount)
        let binding = ServerBootstrap(group: group)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: Self.firstReceiveByteCount, initial: Self.firstReceiveByteCount,
                    maximum: Self.receiveByteCount)
            )
            // A sender may close its side of the connection after its request and still expect the response.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    let count = connectionCount.withLock { count in
                        count += 1
                        return count
                    }
                    channel.closeFuture.whenComplete { _ in connectionCount.withLock { $0 -= 1 } }
                    let excess = count - settings.maximumConnectionCount
                    guard excess <= Self.maximumBusyCount else { return channel.close(promise: nil) }
                    guard excess <= 0 else { return try channel.pipeline.syncOperations.addHandler(BusyHandler()) }
                    let drain = DrainHandler()
                    try channel.pipeline.syncOperations.addHandlers([
                        SlicingHandler(), drain, HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder()),
                        ReceivingHandler(settings, drain, print),
                    ])
                }
            }
            .bind(host: host, port: port)
        let name = host.contains(":") ? "[\(host)]" : host
        let channel: any Channel
        do {
            channel = try binding.wait()
        } catch let error as IOError {
            throw BlobError(systemError: error.errnoCode, doing: "Could not listen on \(name):\(port)")
        }
        let address = channel.localAddress
        print("http://\(name):\(address?.port ?? port)/")
        try channel.closeFuture.wait()
    }
}

/// Handles a connection beyond the limit by sending a 503 response to any request.
final class BusyHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The time for the sender to read the response. Closing the connection with unread bytes would destroy it.
    private static let lingerTime = TimeAmount.seconds(2)

    private static let answer = """
        HTTP/1.1 503 Service Unavailable\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: 27\r\n\
        Retry-After: 1\r\nConnection: close\r\n\r\nToo many connections: wait.
        """

    func channelActive(context: ChannelHandlerContext) {
        context.writeAndFlush(self.wrapOutboundOut(ByteBuffer(string: Self.answer)), promise: nil)
        context.close(mode: .output, promise: nil)
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.lingerTime) { context.close(promise: nil) }
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {}

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if event as? ChannelEvent == .inputClosed { context.close(promise: nil) }
    }
}
#endif
