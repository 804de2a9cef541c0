#if Command
import BlobCommandLine
import Testing

/// The text of progress, without a clock.
@Suite struct ProgressMeterTests {
    private let start = ContinuousClock.now
    private var meter: ProgressMeter

    init() { self.meter = ProgressMeter(at: self.start) }

    private mutating func advance(to count: Int64, of total: Int64? = nil, after seconds: Double, note: String = "") {
        self.meter.advance(to: count, of: total, note: note, at: self.start + .seconds(seconds))
    }

    private func line(_ width: Int, after seconds: Double) -> String {
        self.meter.line(width: width, at: self.start + .seconds(seconds))
    }

    @Test mutating func aKnownLengthHasABarAndTheTimeLeft() {
        self.advance(to: 25_000_000, of: 100_000_000, after: 1)
        #expect(self.line(60, after: 1) == "25.0 MB of 100 MB [===>          ] 25%, 25.0 MB/s, 3 s left")
        #expect(self.line(50, after: 1) == "25.0 MB of 100 MB, 25%, 25.0 MB/s, 3 s left")
        self.advance(to: 100_000_000, of: 100_000_000, after: 2)
        #expect(self.line(60, after: 2).hasSuffix("=] 100%, 50.0 MB/s"))
    }

    @Test mutating func aNarrowTerminalHasFewerPartsAndNoneThatIsCut() {
        self.advance(to: 25_000_000, of: 100_000_000, after: 1)
        #expect(self.line(42, after: 1) == "25.0 MB of 100 MB, 25%, 25.0 MB/s")
        #expect(self.line(33, after: 1) == "25.0 MB of 100 MB, 25%")
        #expect(self.line(32, after: 4) == "25.0 MB of 100 MB, stalled 3 s")
        #expect(self.line(40, after: 4) == "25.0 MB of 100 MB, 25%, stalled 3 s")
    }

    @Test mutating func anUnknownLengthHasARateAlone() {
        self.advance(to: 1_500, after: 1, note: "2 of 7 files, ")
        #expect(self.line(80, after: 1) == "2 of 7 files, 1.5 kB, 1.5 kB/s")
    }

    @Test mutating func theRateIsThatOfTheLastSeconds() {
        for second in 1...60 { self.advance(to: Int64(second) * 1_000_000, after: Double(second)) }
        self.advance(to: 60_001_000, after: 61)
        for second in 62...70 { self.advance(to: 60_001_000 + Int64(second - 61) * 1000, after: Double(second)) }
        #expect(self.line(80, after: 70) == "60.0 MB, 1.0 kB/s")
    }

    @Test mutating func aStallIsToldAfterTwoSeconds() {
        self.advance(to: 7, of: 100, after: 1)
        #expect(!self.line(80, after: 2.9).contains("stalled"))
        #expect(self.line(40, after: 3) == "7 B of 100 B, 7%, stalled 2 s")
        #expect(self.line(40, after: 66).hasSuffix("stalled 1:05"))
        #expect(self.line(40, after: 3666).hasSuffix("stalled 1:01:05"))
        self.advance(to: 7, of: 100, after: 3667)
        #expect(self.line(40, after: 3667).contains("stalled"))
        self.advance(to: 8, of: 100, after: 3668)
        #expect(!self.line(40, after: 3668).contains("stalled"))
    }

    @Test mutating func aLineNeverReachesTheLastColumn() {
        self.advance(to: 12_345_678, of: 1_234_567_890, after: 3, note: "some note, ")
        for width in 0...200 { #expect(self.line(width, after: 3).count < max(width, 1)) }
    }

    @Test mutating func anyCountsMakeALine() {
        for (count, total) in [(0, 0), (5, 0), (-1, 10), (11, 10), (.max, .max), (.max, 1), (0, .max)]
            as [(Int64, Int64)]
        {
            self.advance(to: count, of: total, after: 1)
            #expect(!self.line(80, after: 1).isEmpty)
            #expect(!self.line(80, after: 1e9).isEmpty)
        }
    }

    @Test func thingsAreCountedWithoutARate() {
        var members = ProgressMeter(.items("member"), at: self.start)
        members.advance(to: 1, of: nil, note: "", at: self.start)
        #expect(members.line(width: 80, at: self.start + .seconds(9)) == "1 member")
        members.advance(to: 12, of: 25, note: "", at: self.start)
        #expect(members.line(width: 30, at: self.start) == "12 of 25 members, 48%")
    }
}
#endif
