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
            "-7", "a b", "yes", "no", "1970-01-02T00:00:01Z", "4001-01-01T00:00:00Z", "1582-10-15T00:00:00Z",
            "9999-12-31T23:59:59Z",
        ]
        #expect(facts.map(factText) == texts)
    }
}
