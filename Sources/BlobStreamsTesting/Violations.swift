import BlobStreams
import Foundation

/// Runs the conformance kit: every contract that `source` breaks, by its number; empty is what plugins aim for.
///
/// Uses the plugin directly, without the guard that covers up for it in use. Imports no test framework:
///
///     #expect(await violations(of: MySource(bytes), expecting: bytes).isEmpty)
///
/// Blocks; in an asynchronous function the form that suspends is taken.
///
/// - Parameters:
///   - makeSource: The source; evaluated anew for each check, so that sources that are read once can be checked too.
///   - expected: The bytes that it has.
/// - Returns: The violations, by number. A check that does not come back within a minute is one (C12); its
///   thread is left.
public func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource, expecting expected: Data
) -> [BlobViolation] {
    Kit(makeSource, expecting: Expectation(expected)).run()
}

/// Runs the conformance kit on a source whose bytes nobody knows: its first pass is what the others must agree with.
///
/// Memory does not grow with the source; past 64 MiB the content is compared at its beginning and end only.
///
/// - Throws: What the first pass throws.
public func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource
) throws -> [BlobViolation] {
    Kit(makeSource, expecting: try Expectation(sampling: makeSource())).run()
}

/// Runs the conformance kit on a thread of its own, so that it can wait for sources that need the task's.
public func violations(
    of makeSource: @autoclosure @escaping @Sendable () throws -> any BlobInputStreamDataSource, expecting expected: Data
) async -> [BlobViolation] {
    await withCheckedContinuation { continuation in
        Thread.detachNewThread {
            continuation.resume(returning: Kit(makeSource, expecting: Expectation(expected)).run())
        }
    }
}

/// One run over one source.
struct Kit: Sendable {
    typealias Make = @Sendable () throws -> any BlobInputStreamDataSource

    /// How long one check may take; what takes this long is stuck, also on a loaded machine.
    private static let checkLimit = Duration.seconds(300)

    let makeSource: Make
    let expected: Expectation
    let findings = Findings()

    /// How long an event-driven reader may take to have news.
    let patience: Duration

    init(_ makeSource: @escaping Make, expecting expected: Expectation, patience: Duration = Pass.patience) {
        self.makeSource = makeSource
        self.expected = expected
        self.patience = patience
    }

    func run() -> [BlobViolation] {
        let checks: [@Sendable () throws -> Void] = [
            self.checkReads, self.checkEnd, self.checkBuffers, self.checkInfo, self.checkOffsets,
            self.checkOffsetsOutside, self.checkValidators, self.checkIndependence, self.checkConcurrency,
            self.checkStickyErrors, self.checkCancellation, self.checkDeadline, self.checkClosing, self.checkRelease,
            self.checkErrorContext, self.checkNewestWaker, self.checkEarlySignals, self.checkLateRegistrations,
            self.checkVainReads, self.checkLocksOfWakers, self.checkThreads, self.checkWakersAfterClose,
            self.checkIsOpen, self.checkWakerAtOpening, self.checkNeverBlocks,
        ]
        for check in checks where !self.findings.isHopeless { self.run(check) }
        return self.findings.all
    }

    /// A check has a thread of its own, so that a source that never returns cannot hold up the kit.
    private func run(_ check: @escaping @Sendable () throws -> Void) {
        let isDone = WaitSignal()
        Thread.detachNewThread {
            do {
                try check()
            } catch {
                self.findings.add(8, "A source of known content fails: \(BlobError(wrapping: error))")
            }
            isDone.signal()
        }
        if !isDone.wait(for: Self.checkLimit) {
            self.findings.add(12, "A call did not return within \(Self.checkLimit).")
        }
    }
}
