import NIOCore

extension ReceivingHandler {
    /// Returns a function that calls `action` on the event loop, and may itself be called on any thread.
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
