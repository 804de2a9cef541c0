/// Several ways to perform the same task, measured in turn in one run, so that drifts in the machine's speed cancel
/// out.
struct Comparison {
    /// The name of the task.
    let title: String
    /// The unit that is counted, in the plural.
    let unit: String
    /// The number of units in a round.
    let count: Int
    /// The ways to perform the task: first from this repository, then others.
    let subjects: [Subject]
    /// The baseline, by whose time the times of the subjects are divided.
    let peer: Subject

    struct Subject {
        let name: String
        /// Processes `count` units, and checks the result.
        let round: (_ count: Int) throws -> Void
    }

    /// The rounds of one subject.
    struct Result {
        let name: String
        /// Units per second, in ascending order.
        let rates: [Double]
        /// The subject's time divided by the peer's time in the same round, in ascending order; below 1 is faster than
        /// the peer.
        let timeRatios: [Double]
    }

    /// Returns the results of each subject, with the peer last, after a warm-up round that does not count.
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
    /// The middle element of a sorted array, which must not be empty.
    var median: Double { self[self.count / 2] }
}
