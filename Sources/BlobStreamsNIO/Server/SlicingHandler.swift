#if Receiver
import NIOCore

/// The first handler of a connection. It passes on received data in slices, and yields the event loop to other
/// connections after a few milliseconds.
///
/// A single read may contain ten thousand requests, or forty thousand one-byte chunks.
final class SlicingHandler: ChannelDuplexHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer
    typealias OutboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// The maximum number of bytes in a slice. In the worst case, a slice takes a few milliseconds.
    private static let maximumByteCount = 16 * 1024

    /// The time after which the handler yields to other connections, and the minimum length of the pause.
    private static let (sendingTime, pauseTime) = (TimeAmount.milliseconds(5), TimeAmount.milliseconds(1))

    private var waitingBuffers = CircularBuffer<ByteBuffer>()
    private var isPaused = false
    // The events that arrived after the waiting bytes and are passed on after those bytes.
    private var (hasRead, hasReadComplete, hasEnd) = (false, false, false)

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        self.waitingBuffers.append(self.unwrapInboundIn(data))
        if !self.isPaused { self.passOn(context) }
    }

    func channelReadComplete(context: ChannelHandlerContext) {
        self.hasReadComplete = true
        self.passOnEvents(context)
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard event as? ChannelEvent == .inputClosed else { return context.fireUserInboundEventTriggered(event) }
        self.hasEnd = true
        self.passOnEvents(context)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.waitingBuffers = []
        context.fireChannelInactive()
    }

    func read(context: ChannelHandlerContext) {
        self.hasRead = true
        self.passOnEvents(context)
    }

    private func passOn(_ context: ChannelHandlerContext) {
        let end = NIODeadline.now() + Self.sendingTime
        while !self.waitingBuffers.isEmpty {
            guard NIODeadline.now() < end else { return self.pause(context) }
            let byteCount = min(
                self.waitingBuffers[self.waitingBuffers.startIndex].readableBytes, Self.maximumByteCount)
            let slice = self.waitingBuffers[self.waitingBuffers.startIndex].readSlice(length: byteCount)
            if self.waitingBuffers[self.waitingBuffers.startIndex].readableBytes == 0 {
                self.waitingBuffers.removeFirst()
            }
            if let slice { context.fireChannelRead(self.wrapInboundOut(slice)) }
        }
    }

    private func pause(_ context: ChannelHandlerContext) {
        self.isPaused = true
        context.eventLoop.assumeIsolated().scheduleTask(in: Self.pauseTime) {
            self.isPaused = false
            self.passOn(context)
            self.passOnEvents(context)
        }
    }

    private func passOnEvents(_ context: ChannelHandlerContext) {
        guard self.waitingBuffers.isEmpty else { return }
        if self.hasReadComplete {
            self.hasReadComplete = false
            context.fireChannelReadComplete()
        }
        if self.hasEnd {
            self.hasEnd = false
            context.fireUserInboundEventTriggered(ChannelEvent.inputClosed)
        }
        if self.hasRead {
            self.hasRead = false
            context.read()
        }
    }
}
#endif
