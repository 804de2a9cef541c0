import BlobCore
import BlobPlatform

/// A pass that compares the bytes that it reads, one attempt at a time.
final class Walk {
    let pass: Pass
    private let expected: Expectation
    private let findings: ViolationLog
    private var byteOffset: Int64 = 0

    init(_ pass: Pass, expecting expected: Expectation, _ findings: ViolationLog) {
        self.pass = pass
        self.expected = expected
        self.findings = findings
    }

    var reader: BlobReader { self.pass.reader }

    /// Reads once, without waiting.
    func attempt() throws -> BlobReadResult {
        guard let step = try self.pass.attempt() else { return .notYet }
        switch step {
        case .bytes(let bytes):
            guard self.expected.agrees(with: bytes, at: self.byteOffset) else {
                self.findings.add(8, "Wrong bytes in the read at byte \(self.byteOffset), between others that wait.")
                throw BlobError(.corrupted, "The bytes are others than expected.")
            }
            self.byteOffset += Int64(bytes.count)
            return .bytes
        case .end:
            if self.byteOffset != self.expected.byteCount {
                self.findings.add(
                    8, "The end came at byte \(self.byteOffset) of \(self.expected.byteCount), among reads that wait.")
            }
            return .end
        }
    }
}

/// A waker that records its calls.
final class RecordingWaker: Sendable {
    private let calls = Locked(0)
    private let signal = WaitSignal()

    /// Called by the waker after the call has been counted.
    private let onCall: @Sendable () -> Void

    init(onCall: @escaping @Sendable () -> Void = {}) { self.onCall = onCall }

    var waker: BlobWaker {
        BlobWaker {
            self.calls.withLock { $0 += 1 }
            self.signal.signal()
            self.onCall()
        }
    }

    var wasCalled: Bool { self.calls.withLock { $0 > 0 } }

    /// Waits for the waker to be called; returns false when it is not called within `duration`.
    func wait(for duration: Duration) -> Bool { self.wasCalled || self.signal.wait(for: duration) }
}
