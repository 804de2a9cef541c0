public import BlobCore
public import BlobPlatform

/// Runs the conformance kit, and returns every contract that the source breaks.
///
/// Opens the source as its users do; the guarantees of ``BlobReader`` for every plugin are not checked. Imports no test
/// framework:
///
///     #expect(await violations(of: MySource(bytes), expecting: bytes).isEmpty)
///
/// Blocks; an asynchronous function uses the overload that suspends.
///
/// - Parameters:
///   - makeSource: An expression that creates the source. It is evaluated anew for each check, so the source may be one
///     that can be read only once.
///   - expected: The bytes of the source.
/// - Returns: The violations, in the order of their numbers; empty if the source breaks no contract. A check that does
///   not return within five minutes is a violation (C12), and its thread is abandoned.
public func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource, expecting expected: Data
) -> [BlobViolation] {
    Kit(makeSource, expecting: Expectation(expected)).run()
}

/// Runs the conformance kit on a source of unknown content. The first pass determines the content that later passes
/// must match.
///
/// Memory does not grow with the source: past 64 MiB, only the beginning and the end of the content are compared.
///
/// - Throws: The error of the first pass.
public func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource
) throws -> [BlobViolation] {
    try violations(of: makeSource()) { _, _ in }
}

/// Runs the conformance kit as ``violations(of:)`` does, and calls `onCheck` after each check with the number of
/// completed checks and the total number.
package func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource,
    onCheck: (_ count: Int, _ total: Int) -> Void
) throws -> [BlobViolation] {
    Kit(makeSource, expecting: try Expectation(sampling: makeSource())).run(onCheck)
}

/// Runs the conformance kit on its own thread, so that sources can use the thread of the calling task.
public func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource, expecting expected: Data
) async -> [BlobViolation] {
    await withCheckedContinuation { continuation in
        inNewThread {
            continuation.resume(returning: Kit(makeSource, expecting: Expectation(expected)).run())
        }
    }
}

/// Checks a layer over the kit's own bases, and returns every contract that it breaks.
///
/// Run it in addition to `violations(of:expecting:)`. It checks that a layer reports the errors of its base with the
/// same code and transience (C15), and that, if `neverBlocks` is true, no call waits for a base whose info becomes
/// known late (C16). Takes some milliseconds, and seconds for a layer that waits.
///
///     #expect(try violations(ofLayer: { base in HexSource(underlying: base(MemorySource(bytes))) }).isEmpty)
///
/// - Parameter makeLayer: A closure that creates the layer over sources that work. It passes each source to `base`,
///   which returns it with a fault, or with info that becomes known late.
/// - Throws: The error of reading the layer without a fault.
public func violations(
    ofLayer makeLayer:
        @escaping @Sendable (
            _ base: @Sendable (any BlobInputStreamDataSource) -> any BlobInputStreamDataSource
        ) throws -> any BlobInputStreamDataSource
) throws -> [BlobViolation] {
    let kit = Kit({ try makeLayer { $0 } }, expecting: try Expectation(sampling: makeLayer { $0 }))
    return kit.run([{ kit.checkErrors(makeLayer) }, { kit.checkLateFacts(makeLayer) }])
}

/// One run of the conformance kit over one source.
struct Kit: Sendable {
    typealias Make = @Sendable () throws -> any BlobInputStreamDataSource

    /// The time within which a check must return; after that it is considered stuck, even on a loaded machine.
    private static let checkLimit = Duration.seconds(300)

    let makeSource: Make
    let expected: Expectation
    let findings = ViolationLog()

    /// The longest wait for an event-driven reader.
    let waitLimit: Duration

    init(_ makeSource: @escaping Make, expecting expected: Expectation, waitLimit: Duration = Pass.waitLimit) {
        self.makeSource = makeSource
        self.expected = expected
        self.waitLimit = waitLimit
    }

    typealias Check = @Sendable () throws -> Void

    func run(_ onCheck: (_ count: Int, _ total: Int) -> Void = { _, _ in }) -> [BlobViolation] {
        let checks: [Check] = [
            self.checkReads, self.checkChunks, self.checkBuffers, self.checkInfo, self.checkOffsets,
            self.checkOffsetsOutside, self.checkValidators, self.checkIndependence, self.checkConcurrency,
            self.checkCancellation, self.checkDeadline, self.checkRelease, self.checkCalls, self.checkLocksOfWakers,
            self.checkThreads, self.checkFinalInfo, self.checkWakerAtOpening, self.checkNeverBlocks,
        ]
        return self.run(checks, onCheck)
    }

    func run(_ checks: [Check], _ onCheck: (_ count: Int, _ total: Int) -> Void = { _, _ in }) -> [BlobViolation] {
        for (number, check) in checks.enumerated() where !self.findings.neverWakes {
            self.run(check)
            onCheck(number + 1, checks.count)
        }
        return self.findings.all
    }

    /// The offsets at which openings are checked, each without and with a validator.
    var openings: [(byteOffset: Int64, isMatching: Bool)] {
        Set([0, self.expected.byteCount / 2]).sorted().flatMap { [($0, false), ($0, true)] }
    }

    /// Returns a fault that occurs every time; nil if it is absent once. On a busy machine, a thread may wait for a
    /// core for as long as a faulty call takes.
    static func everyTime(_ fault: () throws -> String?) rethrows -> String? {
        for _ in 0..<2 where try fault() == nil { return nil }
        return try fault()
    }

    /// Runs a check on its own thread, so that a source that never returns does not block the kit.
    private func run(_ check: @escaping Check) {
        let isDone = WaitSignal()
        inNewThread {
            do {
                try check()
            } catch {
                self.findings.add(8, "A source of known content fails", BlobError(wrapping: error))
            }
            isDone.signal()
        }
        if !isDone.wait(for: Self.checkLimit) {
            self.findings.add(12, "A call did not return within \(Self.checkLimit).")
        }
    }
}

/// A violation of a contract of ``BlobInputStreamDataSource`` by a source.
public struct BlobViolation: Hashable, Sendable, CustomStringConvertible {
    /// The number of the contract, 1 to 16.
    public let contract: Int

    /// A description of the observed behaviour.
    public let message: String

    /// The contract and the message: `C8: ...`
    public var description: String { "C\(self.contract): \(self.message)" }
}

/// A collection of distinct violations, to which any thread may add.
final class ViolationLog: Sendable {
    private let violations = Locked<[BlobViolation]>([])

    func add(_ contract: Int, _ message: String) {
        let violation = BlobViolation(contract: contract, message: message)
        self.violations.withLock { if !$0.contains(violation) { $0.append(violation) } }
    }

    /// Adds a violation for an error. If the error names the contract that was broken, the violation is of that
    /// contract; otherwise it is of `contract`.
    func add(_ contract: Int, _ message: String, _ error: BlobError) {
        // The reader names the contract: (C1).
        let number = error.code == .misbehavingPlugin ? error.message.firstMatch(of: /\(C(\d+)\)/) : nil
        if let contract = number.flatMap({ Int($0.1) }) { return self.add(contract, error.message) }
        self.add(contract, "\(message): \(error)")
    }

    /// Adds a violation for an error that does not have this code, or that is transient although a retry cannot help
    /// (C15).
    func expect(_ code: BlobError.Code, of error: any Error, _ contract: Int, _ message: String) {
        let error = BlobError(wrapping: error)
        guard error.code == code else { return self.add(contract, message, error) }
        if error.isTransient, !code.isTransient { self.add(15, "\(message) a transient error", error) }
    }

    /// True if waiting for the waker is pointless, because a reader calls it spuriously without end.
    var neverWakes: Bool { self.violations.withLock { $0.contains { $0.message.hasSuffix(Self.endlessCalls) } } }
    static let endlessCalls = "times, although no bytes were available."

    /// All violations, sorted by the number of the contract.
    var all: [BlobViolation] {
        self.violations.withLock { $0.sorted { ($0.contract, $0.message) < ($1.contract, $1.message) } }
    }
}

/// The expected bytes of a source: all of them, or pieces.
struct Expectation: Sendable {
    /// The number of bytes at the beginning that are all stored and compared.
    private static let wholeByteCount: Int64 = 64 << 20
    private static let pieceByteCount = 64 * 1024

    let byteCount: Int64
    private let pieces: [(byteOffset: Int64, bytes: Data)]

    init(_ bytes: Data) {
        self.byteCount = Int64(bytes.count)
        self.pieces = [(0, Data(bytes))]
    }

    /// Reads the source once to its end, through a ``BlobReader``.
    init(sampling source: any BlobInputStreamDataSource) throws {
        let reader = try source.open()
        defer { reader.close() }
        var beginning = Data()
        var end = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.pieceByteCount, alignment: 16)
        defer { buffer.deallocate() }
        while case let count = try reader.readBlocking(into: buffer), count > 0 {
            let bytes = UnsafeRawBufferPointer(rebasing: buffer[..<count])
            if reader.byteOffset <= Self.wholeByteCount {
                beginning.append(contentsOf: bytes)
            } else {
                end.append(contentsOf: bytes)
                end = Data(end.suffix(Self.pieceByteCount))
            }
        }
        self.byteCount = reader.byteOffset
        self.pieces = [(0, beginning), (self.byteCount - Int64(end.count), end)]
    }

    /// Returns true if `bytes` may be the content at `byteOffset`.
    func agrees(with bytes: Data, at byteOffset: Int64) -> Bool {
        guard byteOffset + Int64(bytes.count) <= self.byteCount else { return false }
        return self.pieces.allSatisfy { piece in
            let range = (byteOffset..<(byteOffset + Int64(bytes.count)))
                .clamped(to: piece.byteOffset..<(piece.byteOffset + Int64(piece.bytes.count)))
            guard !range.isEmpty else { return true }
            let mine = Int(range.lowerBound - piece.byteOffset)..<Int(range.upperBound - piece.byteOffset)
            let theirs = Int(range.lowerBound - byteOffset)..<Int(range.upperBound - byteOffset)
            return piece.bytes[mine] == bytes.dropFirst(theirs.lowerBound).prefix(theirs.count)
        }
    }

    /// The offsets to check: both ends, the middle, and some between (the same in every run).
    var offsets: [Int64] {
        let steps: [Int64] = (0...8).map { $0 * (self.byteCount / 8) }
        let near: [Int64] = [
            0, 1, 2, 3, 7, self.byteCount / 3, self.byteCount - 65, self.byteCount - 1, self.byteCount,
        ]
        return Set(steps + near).filter { (0...self.byteCount).contains($0) }.sorted()
    }
}
