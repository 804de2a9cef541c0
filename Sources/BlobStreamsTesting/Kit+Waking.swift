import BlobCore
import BlobPlatform

/// The checks of the waker, each with a different order of reads, registrations and signals.
extension Kit {
    /// The number of attempts at a race: a call may come late once, but not every time.
    private static let raceCount = 8
    private static let lockLimit = Duration.milliseconds(1500)

    /// C1: after each `notYet`, the slot is fired when a read is worth trying again, regardless of how late the waker
    /// is set.
    func checkCalls() throws {
        var round = 0
        try self.forEachNotYet { pass in
            self.waitVaryingly(round)
            round += 1
            let recordingWaker = RecordingWaker()
            pass.reader.whenReadable(recordingWaker.waker)
            return try self.expectCall(recordingWaker, pass)
        }
    }

    /// Waits in one of five ways: not at all, by yielding, for some instructions, or for one of two times within which
    /// most sources have bytes; the longest only in the first rounds.
    private func waitVaryingly(_ round: Int) {
        switch round % 5 {
        case 0: break
        case 1: sched_yield()
        case 2: for _ in 0..<(round * 100) { withExtendedLifetime(round) {} }
        case 3: _ = WaitSignal().wait(for: .microseconds(100))
        default: if round < 30 { _ = WaitSignal().wait(for: .milliseconds(5)) }
        }
    }

    /// C1: the slot is not fired under a lock that a read acquires.
    func checkLocksOfWakers() throws {
        var (heldCount, callCount) = (0, 0)
        try self.forEachNotYet(4 * Self.raceCount) { pass in
            let (owner, readIsOver) = (pthread_self(), WaitSignal())
            let (isElsewhere, isHeld) = (Locked(false), Locked(false))
            let recordingWaker = RecordingWaker {
                // On the owner's thread, no read can run during this call.
                guard pthread_equal(pthread_self(), owner) == 0 else { return }
                isElsewhere.withLock { $0 = true }
                if !readIsOver.wait(for: Self.lockLimit) { isHeld.withLock { $0 = true } }
            }
            pass.reader.whenReadable(recordingWaker.waker)
            defer { readIsOver.signal() }
            guard try self.expectCall(recordingWaker, pass) else { return false }
            _ = (pass.reader.isOpen, pass.reader.info, try pass.checkedAttempt())
            if isElsewhere.withLock({ $0 }) { callCount += 1 }
            if isHeld.withLock({ $0 }) { heldCount += 1 }
            return callCount < 3
        }
        // On a busy machine a thread may wait that long for a core: only a read that is late every time is blocked by a
        // lock.
        if heldCount == 3 {
            self.findings.add(1, "The slot is fired under a lock that a read waits for.")
        }
    }

    /// C1: a reader is not bound to a thread: each call may come from a different one.
    func checkThreads() throws {
        let stepCount = 32
        let shared = UnsafeTransfer(try self.open(capacity: 64))  // Safe: this thread waits while another uses it.
        do {
            for step in 0..<stepCount {
                // This thread makes every other call: a new thread may have the identity of a thread that has ended.
                let isOwn = step.isMultiple(of: 2)
                let result = try isOwn ? shared.value.checkedAttempt() : onThread { try shared.value.checkedAttempt() }
                guard result != .end else { return }
                guard result == nil else { continue }
                let recordingWaker = RecordingWaker()
                try onThread { shared.value.reader.whenReadable(recordingWaker.waker) }
                guard try self.expectCall(recordingWaker, shared.value) else { return }
            }
        } catch {
            // A reader that also fails on one thread has a different fault.
            let alone = try self.open(capacity: 64)
            for _ in 0..<stepCount where try alone.checkedAttempt() == nil { try alone.waitUntilReadable() }
            self.findings.add(1, "A reader that is used by one thread after another fails", BlobError(wrapping: error))
        }
    }
}

/// Passes over readers that return `notYet`, for the checks of event-driven readers.
extension Kit {
    private static let waitCount = 48
    private static let passCount = 16

    /// The number of reads in one pass; a reader that has not returned `notYet` by then is considered blocking.
    private static let readCount = 512

    /// Reads until a read returns `notYet`; returns false if no read does.
    private func readUntilNotYet(_ pass: Pass) throws -> Bool {
        for _ in 0..<Self.readCount {
            switch try pass.checkedAttempt() {
            case nil: return true
            case .end: return false
            case .bytes: continue
            }
        }
        return false
    }

    /// Calls `body` each time a read returns `notYet`, at most `count` times, until it returns false; in several
    /// passes.
    private func forEachNotYet(_ count: Int = Self.waitCount, _ body: (Pass) throws -> Bool) throws {
        var rest = count
        for _ in 0..<Self.passCount {
            let pass = try self.open(capacity: 64)
            guard try self.readUntilNotYet(pass) else { return }
            repeat {
                rest -= 1
                guard try body(pass), rest > 0 else { return }
            } while try self.readUntilNotYet(pass)
        }
    }

    /// Waits for a waker to be called; if it is not called in time, adds a violation and returns false.
    private func expectCall(_ recordingWaker: RecordingWaker, _ pass: Pass) throws -> Bool {
        if recordingWaker.wait(for: self.waitLimit) { return true }
        // A source without bytes yet is slow, which is a different fault from a slot that is not fired.
        let isReadable = try pass.checkedAttempt() != nil
        self.findings.add(
            1, isReadable ? "A slot is not fired, or is fired too early." : "No bytes arrived within \(self.waitLimit)."
        )
        return false
    }
}

/// Runs `body` on a new thread, or on this one if the system cannot create a thread.
func inNewThread(_ body: @escaping @Sendable () -> Void) {
    if !startThread(named: "BlobKit", body) { body() }
}

/// Runs `body` on a new thread and returns its result.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    let (isDone, result) = (WaitSignal(), Locked<Result<Value, any Error>?>(nil))
    inNewThread {
        let value = Result(catching: body)
        result.withLock { $0 = value }
        isDone.signal()
    }
    _ = isDone.wait(for: nil)
    guard let value = result.withLock({ $0 }) else { throw BlobError(.internalError, "A thread returned no result.") }
    return try value.get()
}
