/// Several ways to do the same, measured in one run and in turn, so that a machine whose speed drifts does not decide.
struct Comparison {
    /// What is done.
    let title: String
    /// What is counted, in the plural.
    let unit: String
    /// How many of them a round does.
    let count: Int
    /// Who does it: what this repository offers first, then its peers.
    let subjects: [Subject]

    struct Subject {
        let name: String
        /// Does `count` of what is counted, and sees that it was done.
        let round: (_ count: Int) throws -> Void
    }

    /// The rates of each subject in units a second, sorted; a first round that warms up does not count.
    func rates(rounds: Int) throws -> [[Double]] {
        var rates = self.subjects.map { _ in [Double]() }
        for round in 0...rounds {
            for (index, subject) in self.subjects.enumerated() {
                let duration = try ContinuousClock().measure { try subject.round(self.count) }
                if round > 0 { rates[index].append(Double(self.count) / (duration / .seconds(1))) }
            }
        }
        return rates.map { $0.sorted() }
    }
}
