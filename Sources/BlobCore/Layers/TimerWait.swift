import BlobPlatform

/// A wait for a time, of a reader that returns `notYet` meanwhile.
package final class TimerWait: Sendable {
    private struct State {
        var isOver = false
        var waker: BlobWaker?
        var timer: BlobRegistration?
    }

    private let state = Locked(State())

    package init(_ delay: Duration, _ context: BlobContext) {
        let timer = context.wake(after: delay, BlobWaker { [weak self] in self?.end() })
        self.state.withLock { if !$0.isOver { $0.timer = timer } }
    }

    package var isOver: Bool { self.state.withLock { $0.isOver } }

    /// Calls `waker` once the wait is over, at once if it is; replaces the last one.
    package func whenOver(_ waker: BlobWaker) {
        let isOver = self.state.withLock { state in
            if !state.isOver { state.waker = waker }
            return state.isOver
        }
        if isOver { waker.wake() }
    }

    /// Drops the waker and the timer.
    package func cancel() {
        let timer = self.state.withLock { state in
            state.waker = nil
            return state.timer.take()
        }
        timer?.cancel()
    }

    private func end() {
        let waker = self.state.withLock { state in
            state.isOver = true
            return state.waker.take()
        }
        waker?.wake()
    }
}
