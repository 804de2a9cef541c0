#if Receiver
import BlobCore
import BlobPlatform
import ServerProgram

/// Prints lines to standard output, in order and on its own thread, so that a stalled reader blocks nothing else.
final class LinePrinter: Sendable {
    /// The number of bytes that may wait for the reader. Beyond it, further lines are dropped.
    private static let maximumWaitingByteCount = 16 << 20

    /// The time to wait after a reader stops reading lines.
    private static let stallTimeout = Duration.milliseconds(100)

    private struct Batch {
        var lines: [String] = []
        var byteCount = 0
        var droppedCount = 0
        var waiters: [WaitSignal] = []  // Signalled once the batch is written.
    }

    private struct State {
        var waitingBatch = Batch()
        var isWriting = false
        var isStuck = false
    }

    private let state = Locked(State())
    private let signal = WaitSignal()

    /// - Parameter fail: Called on the printer's thread with the error if standard output cannot be written.
    init(fail: @escaping @Sendable (any Error) -> Void) {
        let isStarted = startThread(named: "printer") {
            while true {
                do {
                    try self.writeLines()
                } catch {
                    return fail(error)
                }
                _ = self.signal.wait(for: nil)
            }
        }
        if !isStarted { fail(BlobError(.unavailable, "Could not start a thread.", isTransient: true)) }
    }

    /// Prints lines together, or drops them if too many are waiting.
    ///
    /// Returns once the lines are written, or immediately if the reader has stopped.
    func print(_ lines: String) {
        let isStuck = self.state.withLock { state in
            if state.waitingBatch.byteCount > Self.maximumWaitingByteCount {
                state.waitingBatch.droppedCount += 1
            } else {
                state.waitingBatch.lines.append(lines)
                state.waitingBatch.byteCount += lines.utf8.count
            }
            return state.isStuck
        }
        self.signal.signal()
        guard !isStuck, !self.drain(for: Self.stallTimeout) else { return }
        self.state.withLock { $0.isStuck = $0.isWriting }
    }

    /// Waits until all lines are written; returns false if `duration` elapses first.
    @discardableResult func drain(for duration: Duration) -> Bool {
        let waiter = WaitSignal()
        let mustWait = self.state.withLock { state in
            let mustWait = state.isWriting || !state.waitingBatch.lines.isEmpty
            if mustWait { state.waitingBatch.waiters.append(waiter) }
            return mustWait
        }
        return !mustWait || waiter.wait(for: duration)
    }

    private func writeLines() throws {
        while true {
            let batch = self.state.withLock { state in
                defer { state.waitingBatch = Batch() }
                state.isWriting = !state.waitingBatch.lines.isEmpty
                state.isStuck = false
                return state.waitingBatch
            }
            defer { for waiter in batch.waiters { waiter.signal() } }
            if batch.lines.isEmpty { return }
            try Self.write(batch.lines.joined(separator: "\n"), to: STDOUT_FILENO, named: "standard output")
            guard batch.droppedCount > 0 else { continue }
            try Self.write(
                "\(ReceiveProgram.programName): warning: standard output was not read, and the lines of "
                    + "\(batch.droppedCount) requests were dropped", to: STDERR_FILENO, named: "standard error")
        }
    }

    private static func write(_ text: String, to descriptor: CInt, named name: String) throws {
        try writeAll(Array("\(text)\n".utf8), to: descriptor, named: name)
    }
}
#endif
