#if Receiver
import NIOCore

/// A handler that passes on received data until ``begin()`` is called, and discards it afterwards.
final class DrainHandler: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    /// The maximum number of bytes to discard before the connection is closed. It is more than a sender transmits
    /// before it reads a late response, but little compared with the refused body.
    private static let maximumByteCount = 256 << 20

    private var rest: Int?

    /// True once bytes have arrived since ``isInRequest`` was last set to false.
    var isInRequest = false

    /// Discards all data from now on. A second call has no effect.
    func begin() { self.rest = self.rest ?? Self.maximumByteCount }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.isInRequest = true
        guard let rest else { return context.fireChannelRead(data) }
        let left = rest - self.unwrapInboundIn(data).readableBytes
        self.rest = left
        if left < 0 { context.close(promise: nil) }
    }
}
#endif
