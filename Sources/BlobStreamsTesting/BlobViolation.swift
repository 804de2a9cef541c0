import BlobCore

/// A violation of a contract of ``BlobPluginReader`` or ``BlobInputStreamDataSource`` by a source.
public struct BlobViolation: Hashable, Sendable, CustomStringConvertible {
    /// The number of the contract, 1 to 15.
    public let contract: Int

    /// A description of what was observed.
    public let message: String

    /// The contract and the message: `C8: ...`
    public var description: String { "C\(self.contract): \(self.message)" }
}

/// Collects violations on any thread; equal ones count once.
final class ViolationLog: Sendable {
    private let found = Locked<[BlobViolation]>([])

    func add(_ contract: Int, _ message: String) {
        let violation = BlobViolation(contract: contract, message: message)
        self.found.withLock { if !$0.contains(violation) { $0.append(violation) } }
    }

    /// True when waiting for the waker is pointless: a reader calls it in vain endlessly, or cannot call it.
    var neverWakes: Bool {
        self.found.withLock {
            $0.contains { $0.message.hasSuffix(Self.endlessCalls) || $0.message == Self.missingMethod }
        }
    }
    static let endlessCalls = "times in vain."
    static let missingMethod = "A read returns 'notYet', and the reader has no 'whenReadable'."

    /// All violations, by number of contract.
    var all: [BlobViolation] {
        self.found.withLock { $0.sorted { ($0.contract, $0.message) < ($1.contract, $1.message) } }
    }
}
