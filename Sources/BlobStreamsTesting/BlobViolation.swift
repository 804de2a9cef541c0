import BlobStreams

/// One contract of ``BlobReader`` or ``BlobInputStreamDataSource`` that a source breaks.
public struct BlobViolation: Hashable, Sendable, CustomStringConvertible {
    /// The number of the contract, 1 to 15.
    public let contract: Int

    /// What was seen.
    public let message: String

    /// `C8: ...`
    public var description: String { "C\(self.contract): \(self.message)" }
}

/// Collects violations, from any thread; the same one counts once.
final class Findings: Sendable {
    private let found = Locked<[BlobViolation]>([])

    func add(_ contract: Int, _ message: String) {
        let violation = BlobViolation(contract: contract, message: message)
        self.found.withLock { if !$0.contains(violation) { $0.append(violation) } }
    }

    /// Whoever waits for the reader would be called in vain for ever.
    var isHopeless: Bool { self.found.withLock { $0.contains { $0.message.hasSuffix(Self.hopeless) } } }
    static let hopeless = "times in vain: is 'whenReadable' written?"

    /// By number of contract.
    var all: [BlobViolation] {
        self.found.withLock { $0.sorted { ($0.contract, $0.message) < ($1.contract, $1.message) } }
    }
}
