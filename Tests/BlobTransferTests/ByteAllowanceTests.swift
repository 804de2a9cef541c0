import BlobCore
import Testing

/// The turns of readers and requests that share a rate.
@Suite struct ByteAllowanceTests {
    private let start = ContinuousClock.now

    @Test func requestsTakeTurns() {
        let rate = ByteAllowance(bytesPerSecond: 1000, now: self.start)
        let limits = (0..<4).map { _ in ByteAllowance.Share(of: rate) }
        #expect(limits.map { $0.available(at: self.start) } == [50, 0, 0, 0])
        #expect(limits.map { $0.start - self.start } == [0, 50, 100, 150].map { .milliseconds($0) })
        limits[0].use(50)
        // The first one is the last one now.
        #expect(limits[0].available(at: self.start) == 0 && limits[0].start - self.start == .milliseconds(200))
        #expect(limits.map { $0.available(at: self.start + .milliseconds(100)) } == [0, 50, 50, 0])
    }

    @Test func aPauseIsMadeUpForInPart() {
        let rate = ByteAllowance(bytesPerSecond: 1000, now: self.start)
        let limit = ByteAllowance.Share(of: rate)
        var sent = 0
        while case let count = limit.available(at: self.start + .seconds(10)), count > 0 {
            limit.use(count)
            sent += count
        }
        #expect(sent == 300)
    }

    @Test func whatARequestDoesNotSendIsForTheNext() {
        let rate = ByteAllowance(bytesPerSecond: 1000, now: self.start)
        var sent = 0
        // Many that send one byte each; the first of their portions come at once.
        while case let limit = ByteAllowance.Share(of: rate), limit.available(at: self.start) > 0 {
            limit.use(1)
            sent += 1
        }
        #expect((1...2).contains(sent))
        while case let limit = ByteAllowance.Share(of: rate), limit.available(at: self.start + .seconds(1)) > 0 {
            limit.use(1)
            sent += 1
        }
        #expect((200...1001).contains(sent), "\(sent)")
    }

    @Test(arguments: [1, 19, 20, 1 << 40, .max] as [Int64]) func anyRateHasPortions(rate: Int64) {
        let limit = ByteAllowance.Share(of: ByteAllowance(bytesPerSecond: rate, now: self.start))
        #expect((1...262_144).contains(limit.available(at: self.start)))
    }
}
