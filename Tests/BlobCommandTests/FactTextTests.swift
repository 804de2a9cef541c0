#if Command
import BlobCommandLine
import Foundation
import Testing

@Suite struct FactTextTests {
    @Test func factsAreText() {
        let facts: [any Sendable] = [
            Int64(-7), "a b", true, false, Date(timeIntervalSince1970: 86_401), Date.distantFuture,
            Date(timeIntervalSince1970: -1e300), Date(timeIntervalSince1970: 1e300),
        ]
        let texts = [
            "-7", "a b", "yes", "no", "1970-01-02T00:00:01Z", "4001-01-01T00:00:00Z",
            "-1e+300 seconds from 1970, outside the calendar", "1e+300 seconds from 1970, outside the calendar",
        ]
        #expect(facts.map(factText) == texts)
    }
}
#endif
