import BlobCore
import BlobPlatform

/// Passes over readers that return `notYet`, for the checks of event-driven readers.
extension Kit {
    private static let waitCount = 48
    private static let passCount = 16

    /// The number of reads in one pass; a reader that has not returned `notYet` by then is taken for one that blocks.
    private static let readCount = 512

    func walk() throws -> Walk { Walk(try self.open(capacity: 64), expecting: self.expected, self.findings) }

    /// Reads until a read returns `notYet`; returns false if none does.
    func readUntilNotYet(_ walk: Walk) throws -> Bool {
        for _ in 0..<Self.readCount {
            switch try walk.attempt() {
            case .notYet: return true
            case .end: return false
            case .bytes: continue
            }
        }
        return false
    }

    /// Calls `body` each time a read returns `notYet`, at most `count` times, until it returns false; in several
    /// passes.
    func forEachNotYet(_ count: Int = Self.waitCount, _ body: (Walk) throws -> Bool) throws {
        var rest = count
        for _ in 0..<Self.passCount {
            let walk = try self.walk()
            guard try self.readUntilNotYet(walk) else { return }
            repeat {
                rest -= 1
                guard try body(walk), rest > 0 else { return }
            } while try self.readUntilNotYet(walk)
        }
    }

    /// Waits for a waker to be called; otherwise adds a finding and returns false.
    func expectCall(_ bell: RecordingWaker, _ walk: Walk) throws -> Bool {
        if bell.wait(for: self.patience) { return true }
        // A source that has no bytes yet is slow, which is another fault than a slot that is not fired.
        let isReadable = try walk.attempt() != .notYet
        self.findings.add(
            1, isReadable ? "A slot is not fired, or before the bytes are there." : "No bytes within \(self.patience).")
        return false
    }
}

/// Runs `body` on a new thread; on this one when the system has none to give.
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
    guard let value = result.withLock({ $0 }) else { throw BlobError(.internalError, "A thread gave no result.") }
    return try value.get()
}
