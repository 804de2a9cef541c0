/// Where a reader stands with the file that it takes an asset's bytes from.
///
/// Does no input or output: the reader tells it what happened, and asks it whether to go on.
struct Representation {
    /// Why the file can no longer be taken for what it was.
    enum Reason: Equatable {
        /// It has another place or name, or none.
        case moved
        /// It was written to.
        case edited
        /// It cannot be read.
        case offline
    }

    enum State: Equatable {
        case unresolved
        /// The catalogue is asked, and a file opened, for this time of all.
        case resolving(attempt: Int)
        case ready
        case invalidated(Reason)
        case failed, ended, closed
    }

    /// How often a file is looked for before it is given up; the count starts anew when bytes came.
    static let attemptLimit = 3

    private(set) var state = State.unresolved
    private var attempt = 0

    /// Begins to look for the file.
    ///
    /// - Returns: How long to wait before; nil when there have been enough attempts, and the reader has failed.
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
        // A move between two folders takes moments: at once, after 20 ms, after 100 more.
        return [.zero, .milliseconds(20), .milliseconds(100)][self.attempt - 1]
    }

    mutating func becomeReady() {
        if case .resolving = self.state { self.state = .ready }
    }

    /// Bytes came and were right.
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
