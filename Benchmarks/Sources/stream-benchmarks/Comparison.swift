/// Several ways to do the same, measured in one run and in turn, so that a machine whose speed drifts does not decide.
struct Comparison {
    /// What is done.
    let title: String
    /// What is counted, in the plural.
    let unit: String
    /// How many of them a round does.
    let count: Int
    /// The ways to do it: those that this repository offers first, then others.
    let subjects: [Subject]
    /// The way whose time the others' times are divided by.
    let peer: Subject

    struct Subject {
        let name: String
        /// Does `count` of what is counted, and sees that it was done.
        let round: (_ count: Int) throws -> Void
    }

    /// The rounds of one subject.
    struct Result {
        let name: String
        /// Units a second, sorted.
        let rates: [Double]
        /// The subject's time over the peer's in the same round, sorted: below 1 is faster than the peer.
        let timeRatios: [Double]
    }

    /// The results of each subject, the peer's last; a first round that warms up does not count.
    func results(rounds: Int) throws -> [Result] {
        let subjects = self.subjects + [self.peer]
        let clock = ContinuousClock()
        var times: [[Double]] = []
        for _ in 0...rounds {
            times.append(
                try subjects.map { subject in
                    try clock.measure { try subject.round(self.count) } / .seconds(1)
                })
        }
        times.removeFirst()
        return subjects.enumerated().map { index, subject in
            Result(
                name: subject.name,
                rates: times.map { Double(self.count) / $0[index] }.sorted(),
                timeRatios: times.map { $0[index] / $0[subjects.count - 1] }.sorted())
        }
    }
}

extension [Double] {
    /// The middle of sorted values.
    var median: Double { self[self.count / 2] }
}
