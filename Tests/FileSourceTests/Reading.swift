import BlobStreams
import BlobTestSupport
import Foundation
import Testing

/// A reader that is read to its end by a thread of its own.
final class BackgroundReading: Sendable {
    private let outcome = Locked<Result<[UInt8], BlobError>?>(nil)
    private let threadNumber = Locked<Int32?>(nil)
    private let isStarted = DispatchSemaphore(value: 0)
    private let isDone = DispatchSemaphore(value: 0)
    /// For `pthread_kill`.
    private let thread = Locked<UnsafeTransfer<pthread_t>?>(nil)

    init(_ reader: BlobReader) {
        let handedOver = UnsafeTransfer(reader)  // To the one thread that reads; the giver waits for it.
        Thread.detachNewThread {
            self.thread.withLock { $0 = UnsafeTransfer(pthread_self()) }
            self.threadNumber.withLock { $0 = currentThreadNumber() }
            letBeInterrupted(by: SIGUSR1)
            self.isStarted.signal()
            let outcome = Result { try readAll(handedOver.value) }.mapError { BlobError(wrapping: $0) }
            self.outcome.withLock { $0 = outcome }
            self.isDone.signal()
        }
        self.isStarted.wait()
    }

    /// Blocks until the thread sleeps, which a reader does when it waits for bytes.
    func waitUntilItSleeps() {
        guard let number = self.threadNumber.withLock({ $0 }) else { return }
        while !isSleeping(number), self.outcome.withLock({ $0 }) == nil { sched_yield() }
    }

    func interrupt(with signal: CInt) {
        self.thread.withLock { thread in _ = thread.map { pthread_kill($0.value, signal) } }
    }

    /// What came of it; nil when it did not end within `seconds`.
    func result(within seconds: Double = 20) -> Result<[UInt8], BlobError>? {
        guard self.isDone.wait(timeout: .now() + seconds) == .success else { return nil }
        return self.outcome.withLock { $0 }
    }
}

extension Result where Success == [UInt8], Failure == BlobError {
    var error: BlobError? {
        if case .failure(let error) = self { error } else { nil }
    }
}
