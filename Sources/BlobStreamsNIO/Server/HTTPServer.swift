#if Receiver
public import BlobCore
public import BlobReceiving
public import NIOCore
import BlobPlatform
import NIOHTTP1
import NIOPosix

/// A server of HTTP/1.1 for a service: the adapter for SwiftNIO.
///
/// ```swift
/// let server = try HTTPServer(UploadService(folder: "received")).listen(host: "127.0.0.1", port: 0)
/// print(server.url)
/// try server.wait()
/// ```
///
/// To use other handlers beside these, for example for TLS, call ``addHandlers(to:)`` for each connection of your own
/// server instead.
public struct HTTPServer: Sendable {
    /// The limits of the clients' use of time and connections.
    public struct Limits: Sendable {
        /// The maximum number of connections. Further connections receive a 503 response.
        public var maximumConnectionCount = 512
        /// The time for the header of a request to arrive, and for which a connection may be idle between requests.
        public var headerTimeout = Duration.seconds(10)
        /// The time within which bytes of a body must arrive, and within which a client must take bytes of a response.
        public var idleTimeout = Duration.seconds(30)
        /// The minimum average rate of a body or a response, in bytes per second over the idle timeout; 0 for no
        /// minimum. The default is the rate that Apache's mod_reqtimeout requires.
        public var minimumRate: Int64 = 500

        /// Creates the default limits.
        public init() {}
    }

    /// A server that is listening.
    public struct Listening: Sendable {
        private let channel: any Channel
        private let connections: OpenConnections

        /// The URL of the server, with its host as specified and its port.
        public let url: String

        /// The port on which the server listens.
        public let port: Int

        fileprivate init(_ channel: any Channel, _ connections: OpenConnections, host: String, port: Int) {
            (self.channel, self.connections) = (channel, connections)
            (self.url, self.port) = ("http://\(host):\(port)/", port)
        }

        /// Blocks until the server is closed.
        public func wait() throws { try self.channel.closeFuture.wait() }

        /// Stops accepting connections.
        public func close() { self.channel.close(promise: nil) }

        /// Stops accepting connections, and closes each open one after the response to its current request.
        public func drain() {
            for channel in self.connections.drain() {
                channel.pipeline.fireUserInboundEventTriggered(ServerIsDraining())
            }
            self.close()
        }

        /// Returns once the server and all its connections are closed, as after ``drain()``; closes them at once if the
        /// task is cancelled.
        public func finished() async {
            await withTaskCancellationHandler {
                try? await self.channel.closeFuture.get()
                while let channel = self.connections.first { try? await channel.closeFuture.get() }
            } onCancel: {
                self.close()
                for channel in self.connections.drain() { channel.close(promise: nil) }
            }
        }
    }

    /// The maximum number of concurrent connections beyond the limit that receive a response. Further ones are closed.
    package static let maximumBusyCount = 64

    /// The number of connections that may wait to be accepted. The system drops any others, whose senders retry after a
    /// second. More than the default limit may arrive at once.
    private static let backlog: CInt = 1024

    /// The number of bytes of the first read from a connection. NIO copies the whole buffer of this read.
    private static let firstReceiveByteCount = 2048

    /// The maximum number of bytes per read from a connection. Large pieces are hashed and stored faster.
    private static let receiveByteCount = 256 * 1024

    /// The number of bytes of a response that the system accepts before it has sent earlier ones.
    private static let unsentByteCount = 256 * 1024

    private let service: any RequestService
    private let limits: Limits
    private let onAnswer: @Sendable (RequestAnswer) -> Void

    /// Creates a server of a service.
    ///
    /// - Parameters:
    ///   - service: The service that answers the requests.
    ///   - limits: The limits of the clients.
    ///   - onAnswer: A closure that is called on a thread of a pool with each answer of the service, before it is sent.
    public init(
        _ service: any RequestService, limits: Limits = Limits(),
        onAnswer: @escaping @Sendable (RequestAnswer) -> Void = { _ in }
    ) { (self.service, self.limits, self.onAnswer) = (service, limits, onAnswer) }

    /// Starts to listen; port 0 selects a free one.
    ///
    /// - Throws: The error of the system, such as a port in use.
    public func listen(host: String, port: Int) throws(BlobError) -> Listening {
        let connections = OpenConnections()
        let binding = ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .serverChannelOption(.backlog, value: Self.backlog)
            .serverChannelOption(.socketOption(.so_reuseaddr), value: 1)
            // Without a descriptor for a connection, accepting pauses instead of failing at once, again and again.
            .serverChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(AcceptBackoffHandler())
                }
            }
            .childChannelOption(
                .recvAllocator,
                value: AdaptiveRecvByteBufferAllocator(
                    minimum: Self.firstReceiveByteCount, initial: Self.firstReceiveByteCount,
                    maximum: Self.receiveByteCount)
            )
            // A client that takes no bytes costs little memory of the system.
            .childChannelOption(.tcpOption(.init(rawValue: TCP_NOTSENT_LOWAT)), value: Self.unsentByteCount)
            // A sender may close its side of the connection after its request and still expect the response.
            .childChannelOption(.allowRemoteHalfClosure, value: true)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    guard let count = connections.add(channel) else { return channel.close(promise: nil) }
                    let excess = count - self.limits.maximumConnectionCount
                    guard excess <= Self.maximumBusyCount else { return channel.close(promise: nil) }
                    guard excess <= 0 else { return try channel.pipeline.syncOperations.addHandler(BusyHandler()) }
                    try self.addHandlers(to: channel)
                }
            }
            .bind(host: host, port: port)
        let name = host.contains(":") ? "[\(host)]" : host
        do {
            let channel = try binding.wait()
            // NIO closes the channel later if the system refuses to report its connections.
            guard channel.isActive, let port = channel.localAddress?.port else { throw ChannelError.alreadyClosed }
            return Listening(channel, connections, host: name, port: port)
        } catch {
            let action = "Could not listen on \(name):\(port)"
            guard let error = error as? IOError else {
                throw BlobError(.io, "\(action): \(BlobError.text(of: error)).")
            }
            throw BlobError(systemError: error.errnoCode, doing: action)
        }
    }

    /// Adds the handlers of a connection to its pipeline, after any that decrypt it. Call this method on the channel's
    /// event loop.
    public func addHandlers(to channel: any Channel) throws {
        let drain = DrainHandler()
        try channel.pipeline.syncOperations.addHandlers([
            SlicingHandler(), drain, HTTPResponseEncoder(), ByteToMessageHandler(HTTPRequestDecoder()),
            ConnectionHandler(self.service, self.limits, drain, self.onAnswer),
        ])
    }
}

/// The event by which a connection learns that it is to end after the response to its current request.
struct ServerIsDraining {}

/// The connections that a server has accepted and that are open.
private final class OpenConnections: Sendable {
    private let state = Locked((channels: [ObjectIdentifier: any Channel](), isDraining: false))

    var first: (any Channel)? { self.state.withLock { $0.channels.values.first } }

    /// Adds a connection until it is closed.
    ///
    /// - Returns: The number of open connections; nil after ``drain()``, when no more are accepted.
    func add(_ channel: any Channel) -> Int? {
        let id = ObjectIdentifier(channel)
        channel.closeFuture.whenComplete { [state] _ in state.withLock { $0.channels[id] = nil } }
        return self.state.withLock { state in
            guard !state.isDraining else { return nil }
            state.channels[id] = channel
            return state.channels.count
        }
    }

    /// Accepts no more connections, and returns those that are open.
    func drain() -> [any Channel] {
        self.state.withLock { state in
            state.isDraining = true
            return Array(state.channels.values)
        }
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
