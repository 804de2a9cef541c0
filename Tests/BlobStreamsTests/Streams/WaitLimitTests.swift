import Testing

@testable import BlobStreams

/// The state machine alone: no threads, and limits that have passed or never will.
struct WaitLimitTests {
    private let far = BlobContext(idleLimit: .seconds(1000))
    private let near = BlobContext(idleLimit: .zero)

    @Test func withoutALimitNobodyLooks() {
        var limit = WaitLimit()
        #expect(limit.begin(BlobContext()) == nil)
        guard case .nobodyWaits = limit.look() else { return #expect(Bool(false)) }
    }

    @Test func howeverManyWaitsBeginOnlyOneLookIsOutstanding() {
        var limit = WaitLimit()
        #expect(limit.begin(self.far) != nil)
        for _ in 0..<3 {
            #expect(limit.begin(self.far) == nil)
            limit.end()
        }
        #expect(limit.begin(self.far) == nil)
        guard case .lookAgain(let delay) = limit.look() else { return #expect(Bool(false)) }
        #expect(delay > .seconds(900) && delay <= .seconds(1000))
        limit.end()
        guard case .nobodyWaits = limit.look() else { return #expect(Bool(false)) }
        #expect(limit.begin(self.far) != nil)
    }

    @Test func aLimitThatPassedEndsTheWait() {
        var limit = WaitLimit()
        #expect(limit.begin(self.near) == .zero)
        guard case .passed(let passed) = limit.look() else { return #expect(Bool(false)) }
        #expect(passed.error(idleLimit: self.near.idleLimit).code == .timedOut)
    }
}
