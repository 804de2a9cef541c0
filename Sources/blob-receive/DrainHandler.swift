import NIOCore

/// The second handler of a connection, after the one that slices: passes on what it receives, until it is told to drop it.
final class DrainHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The maximum number of bytes that are dropped before the connection is closed: more than senders that read their
    /// answer late send until then, and little compared with the body that was refused.
    private static let maximumByteCount = 256 << 20

    private var rest: Int?

    /// Drops everything from now on. A second call has no effect.
    func begin() { self.rest = self.rest ?? Self.maximumByteCount }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        guard let rest else { return context.fireChannelRead(data) }
        let left = rest - self.unwrapInboundIn(data).readableBytes
        self.rest = left
        if left < 0 { context.close(promise: nil) }
    }
}
