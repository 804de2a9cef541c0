internal import CoreFoundation
public import Foundation

/// An event source in one mode of one run loop.
///
/// Keeps the run loop running in that mode until it is invalidated. Any thread may signal and invalidate it.
final class RunLoopSource: @unchecked Sendable {  // Safe: a `CFRunLoopSource` has its own lock, the rest is locked.
    let runLoop: RunLoop
    let mode: RunLoop.Mode
    private let source: CFRunLoopSource
    private let attachment = Locked<(runLoop: CFRunLoop?, isInvalidated: Bool)>((nil, false))
    /// The thread that is performing the source; nil if no thread is.
    fileprivate let performingThread = Locked<pthread_t?>(nil)

    /// Creates a source, which is not yet added to its run loop.
    ///
    /// - Parameter perform: A closure that is called on the thread of the run loop after each signal.
    init(_ runLoop: RunLoop, _ mode: RunLoop.Mode, perform: @escaping @Sendable (RunLoopSource) -> Void) {
        self.runLoop = runLoop
        self.mode = mode
        let target = PerformTarget(perform)
        var context = CFRunLoopSourceContext()
        context.info = Unmanaged.passUnretained(target).toOpaque()
        // The source retains its target, which may be performing while all other references are released.
        context.retain = { info in
            guard let info else { return nil }
            return UnsafeRawPointer(Unmanaged<PerformTarget>.fromOpaque(info).retain().toOpaque())
        }
        context.release = { info in
            if let info { Unmanaged<PerformTarget>.fromOpaque(info).release() }
        }
        context.perform = { info in
            if let info { Unmanaged<PerformTarget>.fromOpaque(info).takeUnretainedValue().perform() }
        }
        self.source = withExtendedLifetime(target) { CFRunLoopSourceCreate(nil, 0, &context) }
        target.source = self
    }

    /// Adds the source to its run loop: now, or, for the run loop of another thread, when it runs next.
    func attach() {
        self.runLoop.withCFRunLoop(in: self.mode) { runLoop in
            self.attachment.withLock { attachment in
                // Adding a source while it is invalidated leaks memory.
                guard !attachment.isInvalidated else { return }
                attachment.runLoop = runLoop
                CFRunLoopAddSource(runLoop, self.source, self.mode.cfMode)
            }
        }
    }

    /// Makes the run loop perform the source, once for all signals until then.
    func signal() {
        CFRunLoopSourceSignal(self.source)
        // A run loop that is performing the source checks its sources again before it sleeps.
        if self.performingThread.withLock({ $0 != pthread_self() }) { self.wake() }
    }

    /// Removes the source from its run loop, which then exits if nothing else kept it running.
    func invalidate() {
        self.attachment.withLock { $0.isInvalidated = true }
        CFRunLoopSourceInvalidate(self.source)
        self.wake()
    }

    private func wake() {
        if let runLoop = self.attachment.withLock({ $0.runLoop }) { CFRunLoopWakeUp(runLoop) }
    }
}

private final class PerformTarget {
    weak var source: RunLoopSource?  // Set before the source is attached.
    private let action: @Sendable (RunLoopSource) -> Void

    init(_ action: @escaping @Sendable (RunLoopSource) -> Void) { self.action = action }

    func perform() {
        guard let source else { return }
        // Not nil if this call is nested: the action of an outer call is running the run loop.
        let outerThread = source.performingThread.withLock { thread in
            defer { thread = pthread_self() }
            return thread
        }
        self.action(source)
        source.performingThread.withLock { $0 = outerThread }
    }
}

extension BlobDelivery {
    /// Delivers on the thread of a run loop while it runs in `mode`.
    ///
    /// Until the observation ends, it keeps the run loop from exiting in that mode, as an input source does. A handler
    /// that runs the run loop itself receives the next change after it has returned.
    public static func runLoop(_ runLoop: RunLoop, mode: RunLoop.Mode = .default) -> BlobDelivery {
        let runLoop = UnsafeTransfer(runLoop)  // Safe: only used for calls that any thread may make.
        return BlobDelivery(connect: { job in
            let source = RunLoopSource(runLoop.value, mode) { _ in job() }
            source.attach()
            return Connection(schedule: { source.signal() }, close: { source.invalidate() })
        })
    }
}
