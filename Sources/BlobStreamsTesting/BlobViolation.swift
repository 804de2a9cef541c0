import BlobCore

/// A violation of a contract of ``BlobInputStreamDataSource`` by a source.
public struct BlobViolation: Hashable, Sendable, CustomStringConvertible {
    /// The number of the contract, 1 to 16.
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

    /// Adds what an error tells: of a contract that the reader found broken, or of this one.
    func add(_ contract: Int, _ message: String, _ error: BlobError) {
        // The reader names the contract: (C1).
        let number = error.code == .misbehavingPlugin ? error.message.firstMatch(of: /\(C(\d+)\)/) : nil
        if let contract = number.flatMap({ Int($0.1) }) { return self.add(contract, error.message) }
        self.add(contract, "\(message): \(error)")
    }

    /// Adds an error that has not this code, or that is transient although trying again cannot help (C15).
    func expect(_ code: BlobError.Code, of error: any Error, _ contract: Int, _ message: String) {
        let error = BlobError(wrapping: error)
        guard error.code == code else { return self.add(contract, message, error) }
        if error.isTransient, !code.isTransient { self.add(15, "\(message) a transient error", error) }
    }

    /// True when waiting for the waker is pointless: a reader calls it in vain endlessly.
    var neverWakes: Bool { self.found.withLock { $0.contains { $0.message.hasSuffix(Self.endlessCalls) } } }
    static let endlessCalls = "times in vain."

    /// All violations, by number of contract.
    var all: [BlobViolation] {
        self.found.withLock { $0.sorted { ($0.contract, $0.message) < ($1.contract, $1.message) } }
    }
}
