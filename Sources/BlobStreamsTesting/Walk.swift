import BlobStreams
import Foundation

/// A pass that compares what it reads, one attempt at a time.
final class Walk {
    let pass: Pass
    private let expected: Expectation
    private let findings: Findings
    private var byteOffset: Int64 = 0

    init(_ pass: Pass, expecting expected: Expectation, _ findings: Findings) {
        self.pass = pass
        self.expected = expected
        self.findings = findings
    }

    var reader: any BlobReader { self.pass.reader }

    /// One read, which does not wait.
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

/// A waker and what became of it.
final class Bell: Sendable {
    private let calls = Locked(0)
    private let signal = WaitSignal()

    /// Called by the waker, after the call was counted.
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

    /// True once the waker was called; false when that does not come within `duration`.
    func wait(for duration: Duration) -> Bool { self.wasCalled || self.signal.wait(for: duration) }
}
