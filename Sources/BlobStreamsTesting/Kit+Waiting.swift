import BlobStreams
import Foundation

/// Passes over what says `notYet`, for the checks of readers that are event-driven.
extension Kit {
    private static let waitCount = 48
    private static let passCount = 16

    /// In one pass; a reader that did not say `notYet` until then is taken for one that blocks.
    private static let readCount = 512

    func walk() throws -> Walk { Walk(try self.open(capacity: 64), expecting: self.expected, self.findings) }

    /// Reads until a read says `notYet`; false when none does.
    func reachWait(_ walk: Walk) throws -> Bool {
        for _ in 0..<Self.readCount {
            switch try walk.attempt() {
            case .notYet: return true
            case .end: return false
            case .bytes: continue
            }
        }
        return false
    }

    /// Calls `body` each time that a read says `notYet`, until it returns false; goes on in other passes when one has few.
    func atEachWait(_ count: Int = Self.waitCount, _ body: (Walk) throws -> Bool) throws {
        var rest = count
        for _ in 0..<Self.passCount {
            let walk = try self.walk()
            guard try self.reachWait(walk) else { return }
            repeat {
                rest -= 1
                guard try body(walk), rest > 0 else { return }
            } while try self.reachWait(walk)
        }
    }

    /// Waits for a waker to be called; false, and a finding, when that does not come.
    func hears(_ bell: Bell, _ walk: Walk, _ otherwise: String) throws -> Bool {
        if bell.wait(for: self.patience) { return true }
        // A source that has nothing to say is slow, and not at fault in this way.
        let isReadable = try walk.attempt() != .notYet
        self.findings.add(1, isReadable ? otherwise : "The waker was not called within \(self.patience).")
        return false
    }
}

/// Runs `body` on a thread of its own and waits for it.
func onThread<Value: Sendable>(_ body: @escaping @Sendable () throws -> Value) throws -> Value {
    let (isDone, result) = (WaitSignal(), Locked<Result<Value, any Error>?>(nil))
    Thread.detachNewThread {
        let value = Result(catching: body)
        result.withLock { $0 = value }
        isDone.signal()
    }
    _ = isDone.wait(for: nil)
    guard let value = result.withLock({ $0 }) else { throw BlobError(.internalError, "A thread gave no result.") }
    return try value.get()
}
