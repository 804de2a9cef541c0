#if Receiver && Photos
import NIOCore
import NIOHTTP1

/// Closes a connection on which a request or its response takes too long, so that slow clients do not occupy it.
final class RequestDeadline: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    /// The time limit for a whole request, and for its whole response.
    static let timeLimit = TimeAmount.seconds(60)

    private var timer: Scheduled<Void>?

    func channelActive(context: ChannelHandlerContext) {
        self.restart(context)
        context.fireChannelActive()
    }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        if case .end = self.unwrapInboundIn(data) { self.restart(context) }
        context.fireChannelRead(data)
    }

    func write(context: ChannelHandlerContext, data: NIOAny, promise: EventLoopPromise<Void>?) {
        if case .end = self.unwrapOutboundIn(data) { self.restart(context) }
        context.write(data, promise: promise)
    }

    func channelInactive(context: ChannelHandlerContext) {
        self.timer?.cancel()
        context.fireChannelInactive()
    }

    private func restart(_ context: ChannelHandlerContext) {
        self.timer?.cancel()
        self.timer = context.eventLoop.assumeIsolated().scheduleTask(in: Self.timeLimit) { context.close(promise: nil) }
    }
}
#endif
