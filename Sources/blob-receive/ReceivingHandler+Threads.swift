import NIOCore

extension ReceivingHandler {
    /// A function for any thread that calls `action` on the event loop.
    func onLoop<Value: Sendable>(
        _ context: ChannelHandlerContext,
        _ action: @escaping (ReceivingHandler, ChannelHandlerContext, Value) -> Void
    ) -> @Sendable (Value) -> Void {
        let loop = context.eventLoop
        let bound = NIOLoopBound((handler: self, context: context, action: action), eventLoop: loop)
        return { value in
            loop.execute { bound.value.action(bound.value.handler, bound.value.context, value) }
        }
    }

    func onLoop(
        _ context: ChannelHandlerContext, _ action: @escaping (ReceivingHandler, ChannelHandlerContext) -> Void
    ) -> @Sendable () -> Void {
        let call = self.onLoop(context) { (handler, context, _: Bool) in action(handler, context) }
        return { call(true) }
    }
}
