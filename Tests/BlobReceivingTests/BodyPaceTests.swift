import Testing

@testable import BlobReceiving

/// The pace of a body, with times that the test chooses.
@Suite struct BodyPaceTests {
    private let start = ContinuousClock.now

    private func pace(_ minimumRate: Int64 = 10) -> BodyPace {
        BodyPace(timeLimit: .seconds(10), minimumRate: minimumRate, at: self.start)
    }

    @Test func aBodyOfWhichNothingArrivesIsIdle() {
        var pace = self.pace(0)
        #expect(pace.check(at: self.start) == .fine(checkAfter: .seconds(10)))
        #expect(pace.check(at: self.start + .seconds(6)) == .fine(checkAfter: .seconds(4)))
        pace.add(1, at: self.start + .seconds(8))
        #expect(pace.check(at: self.start + .seconds(10)) == .fine(checkAfter: .seconds(8)))
        #expect(pace.check(at: self.start + .seconds(17)) == .fine(checkAfter: .seconds(1)))
        #expect(pace.check(at: self.start + .seconds(18)) == .idle)
    }

    @Test(arguments: [(99, BodyPace.Verdict.slow), (100, .fine(checkAfter: .seconds(9)))])
    func tooFewBytesInASpanAreSlow(count: Int, verdict: BodyPace.Verdict) {
        var pace = self.pace()
        // What came in an earlier span does not count in a later one.
        pace.add(1_000_000, at: self.start + .seconds(5))
        #expect(pace.check(at: self.start + .seconds(10)) == .fine(checkAfter: .seconds(5)))
        pace.add(count, at: self.start + .seconds(19))
        #expect(pace.check(at: self.start + .seconds(20)) == verdict)
    }

    @Test func theTimeForWhichASenderIsHeldBackDoesNotCount() {
        var pace = self.pace()
        pace.add(50, at: self.start + .seconds(4))
        pace.hold(at: self.start + .seconds(5))
        pace.hold(at: self.start + .seconds(7))
        #expect(pace.check(at: self.start + .seconds(100)) == .fine(checkAfter: .seconds(5)))
        pace.resume(at: self.start + .seconds(1005))
        pace.resume(at: self.start + .seconds(1006))
        #expect(pace.check(at: self.start + .seconds(1009)) == .fine(checkAfter: .seconds(1)))
        pace.add(50, at: self.start + .seconds(1009))
        #expect(pace.check(at: self.start + .seconds(1010)) == .fine(checkAfter: .seconds(9)))
        #expect(pace.check(at: self.start + .seconds(1019)) == .idle)
    }

    /// The last moment of a span never makes a loop of checks.
    @Test func checksAreNotMoreOftenThanATenthOfTheLimit() {
        var pace = self.pace()
        pace.add(1000, at: self.start + .seconds(9))
        #expect(pace.check(at: self.start + .milliseconds(9999)) == .fine(checkAfter: .seconds(1)))
    }
}
