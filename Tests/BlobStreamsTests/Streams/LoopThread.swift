import BlobStreams
import BlobTestSupport
import CoreFoundation
import Foundation

/// A thread that runs its run loop in one mode, asleep while nothing happens there, until it is stopped.
final class LoopThread: Sendable {
    private let loop = Locked<UnsafeTransfer<RunLoop>?>(nil)
    private let isStopped = Locked(false)
    private let started = Latch()
    private let ended = Latch()
    private let mode: RunLoop.Mode

    init(_ mode: RunLoop.Mode = .default) {
        self.mode = mode
        let thread = Thread { [self] in
            // Keeps the run loop from ending when nothing else is scheduled.
            let idle = Timer(fire: .distantFuture, interval: 0, repeats: false) { _ in }
            RunLoop.current.add(idle, forMode: mode)
            self.loop.withLock { $0 = UnsafeTransfer(RunLoop.current) }
            self.started.open()
            while !self.isStopped.withLock({ $0 }) { _ = RunLoop.current.run(mode: mode, before: .distantFuture) }
            idle.invalidate()
            self.ended.open()
        }
        thread.start()
        self.started.wait()
    }

    /// The run loop. Only what Foundation allows from other threads may be done to it.
    var runLoop: RunLoop {
        guard let loop = self.loop.withLock({ $0 }) else { preconditionFailure("It has started.") }
        return loop.value
    }

    /// Runs `job` on the thread and waits for it.
    func perform(_ job: @escaping @Sendable () -> Void) {
        let done = Latch()
        let timer = Timer(timeInterval: 0, repeats: false) { _ in
            job()
            done.open()
        }
        self.runLoop.add(timer, forMode: self.mode)
        done.wait()
    }

    func stop() {
        self.perform {
            self.isStopped.withLock { $0 = true }
            CFRunLoopStop(CFRunLoopGetCurrent())
        }
        self.ended.wait()
    }
}
