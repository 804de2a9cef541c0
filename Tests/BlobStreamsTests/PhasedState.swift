import BlobStreams

/// A state with a part that everybody has to see, and one that may be coalesced.
struct PhasedState: Equatable {
    enum Phase: CaseIterable { case idle, opening, open, closed }

    var phase: Phase
    var byteOffset: Int

    init(_ phase: Phase, _ byteOffset: Int) { (self.phase, self.byteOffset) = (phase, byteOffset) }

    /// Idle at 0; closed is last.
    static func observable() -> BlobObservable<PhasedState> {
        BlobObservable(
            PhasedState(.idle, 0), coalescing: { $0.phase == $1.phase }, isLast: { $0.phase == .closed })
    }

    struct Transition: Equatable {
        let old: PhasedState?
        let new: PhasedState?

        init(_ old: (Phase, Int), _ new: (Phase, Int)) {
            (self.old, self.new) = (PhasedState(old.0, old.1), PhasedState(new.0, new.1))
        }

        init(_ change: BlobChange<PhasedState>) { (self.old, self.new) = (change.old, change.new) }
    }
}

/// Counts how many of its values there are.
final class LiveCount: Sendable {
    struct Value: Equatable {
        let number: Int
        private let token: Token

        fileprivate init(_ number: Int, _ count: LiveCount) { (self.number, self.token) = (number, Token(count)) }

        static func == (left: Value, right: Value) -> Bool { left.number == right.number }
    }

    private final class Token: Sendable {
        private let count: LiveCount

        init(_ count: LiveCount) {
            self.count = count
            count.state.withLock { $0 = ($0.now + 1, max($0.most, $0.now + 1)) }
        }

        deinit { self.count.state.withLock { $0.now -= 1 } }
    }

    private let state = Locked((now: 0, most: 0))

    var now: Int { self.state.withLock { $0.now } }
    var most: Int { self.state.withLock { $0.most } }

    func value(_ number: Int) -> Value { Value(number, self) }
}
