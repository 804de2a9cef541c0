import BlobCore
import BlobPlatform

/// The limits of a helper within one command, without progress.
package struct HelperLimits: Sendable {
    /// The limit of processor time, in milliseconds.
    package var processorTime: Int64 = 3000
    /// The limit of time in which the helper neither computes nor says anything.
    package var silence = Duration.seconds(60)
    /// The limit of questions for bytes that were asked for before.
    package var repetitionCount = 10_000

    package init() {}
}

/// The progress of a helper in one command: an answer, or bytes of its input that it had not asked for before.
///
/// Skipping a part may take long, and gives no answer meanwhile, but it reads on. All numbers are of one command, or
/// of the time since the last progress in it. Where the processor time of another process is not known, as on macOS, a
/// helper that computes counts as silent, and its processor time is not limited.
struct HelperProgress {
    private let limits: HelperLimits
    /// The processor time of the helper at the last progress, and when it was last looked at; nil when it is not known.
    private var (start, last): (Int64?, Int64?) = (nil, nil)
    private var silentSince = ContinuousClock.now
    private var repetitionCount = 0
    /// The greatest offset asked for, in any command.
    private var furthest: Int64 = -1

    init(_ limits: HelperLimits) { self.limits = limits }

    /// Begins a command.
    ///
    /// - Parameter processorTime: The processor time of the helper so far, in milliseconds; nil when it is not known.
    mutating func begin(_ processorTime: Int64?) {
        (self.start, self.last, self.silentSince, self.repetitionCount) = (processorTime, processorTime, .now, 0)
    }

    /// Takes note of a question for bytes at an offset.
    mutating func need(_ byteOffset: Int64, _ processorTime: @autoclosure () -> Int64?) throws(BlobError) {
        guard byteOffset <= self.furthest else {
            self.furthest = byteOffset
            return self.begin(processorTime())
        }
        self.repetitionCount += 1
        guard self.repetitionCount <= self.limits.repetitionCount else {
            throw Self.isEndless("read the same parts of its input \(self.repetitionCount) times")
        }
        try self.check(processorTime())
    }

    /// Takes note of the answer to a question, which the helper had to wait for.
    mutating func resume() { self.silentSince = .now }

    /// Throws when the helper made no progress for too long.
    mutating func check(_ processorTime: Int64?) throws(BlobError) {
        if let processorTime, let start, processorTime - start >= self.limits.processorTime {
            throw Self.isEndless("computed for \(self.limits.processorTime / 1000) seconds")
        }
        // One that computes is not silent, however little of the processor it gets.
        if processorTime != self.last { (self.last, self.silentSince) = (processorTime, .now) }
        guard ContinuousClock.now - self.silentSince < self.limits.silence else {
            throw BlobError(.timedOut, "The helper process was silent for \(self.limits.silence).")
        }
    }

    private static func isEndless(_ what: String) -> BlobError {
        BlobError(.corrupted, "The helper process \(what) without progress.")
    }
}
