/// The state of a reader with regard to the file of its asset.
///
/// A state machine without I/O: the reader reports events, and follows the resulting actions.
struct Representation {
    /// The reason for which the file is no longer known to be right.
    enum Reason: Equatable {
        /// The file was moved, renamed or removed.
        case moved
        /// The file was written to.
        case edited
        /// The file cannot be read.
        case offline
    }

    enum State: Equatable {
        case unresolved
        /// The catalogue is queried and a file is opened; `attempt` counts from 1.
        case resolving(attempt: Int)
        case ready
        case invalidated(Reason)
        case failed, ended, closed
    }

    /// The number of attempts to find a file; the count starts again after bytes were delivered.
    static let attemptLimit = 3

    private(set) var state = State.unresolved
    private var attempt = 0

    /// Begins an attempt to find the file.
    ///
    /// - Returns: The time to wait before the attempt; nil when the attempts are exhausted, which fails the reader, or
    ///   after it has failed, ended or been closed.
    mutating func resolve() -> Duration? {
        switch self.state {
        case .failed, .ended, .closed: return nil
        case .unresolved, .resolving, .ready, .invalidated: break
        }
        guard self.attempt < Self.attemptLimit else {
            self.state = .failed
            return nil
        }
        self.attempt += 1
        self.state = .resolving(attempt: self.attempt)
        // A move between two folders takes moments: attempts at once, after 20 ms and after 100 ms more.
        return [.zero, .milliseconds(20), .milliseconds(100)][self.attempt - 1]
    }

    mutating func becomeReady() {
        if case .resolving = self.state { self.state = .ready }
    }

    /// Records that verified bytes were delivered.
    mutating func deliver() { self.attempt = 0 }

    mutating func invalidate(_ reason: Reason) {
        if self.state == .ready { self.state = .invalidated(reason) }
    }

    mutating func fail() {
        if self.state != .closed, self.state != .ended { self.state = .failed }
    }

    mutating func end() {
        if self.state == .ready { self.state = .ended }
    }

    mutating func close() { self.state = .closed }
}
