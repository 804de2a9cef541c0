import Testing

@testable import BlobReceiving

/// The ranges in a `Range` field.
@Suite struct RangeRequestTests {
    /// RFC 9110, sections 14.1.1 to 14.2; content of 10 bytes.
    @Test(arguments: [
        ("bytes=0-0", [0..<1]), ("bytes=9-", [9..<10]), ("bytes=-3", [7..<10]), ("bytes=-99", [0..<10]),
        ("bytes=5-99", [5..<10]), ("BYTES=1-2", [1..<3]), ("bytes= 1-2 ,\t4-4,", [1..<3, 4..<5]),
        ("bytes=8-9,0-1", [8..<10, 0..<2]), ("bytes=0-3,2-5,9-", [0..<6, 9..<10]),
        ("bytes=0-1,2-3", [0..<2, 2..<4]), ("bytes=10-,1-1", [1..<2]), ("bytes=0-1,4-5,1-4", [0..<6]),
        ("bytes=1-99999999999999999999999", [1..<10]), ("bytes=-99999999999999999999999", [0..<10]),
    ])
    func rangesAreWithinTheContent(field: String, ranges: [Range<Int64>]) {
        #expect(RangeRequest(field, of: 10) == .ranges(ranges))
    }

    @Test(arguments: [
        "bytes=10-", "bytes=10-11", "bytes=-0", "bytes=99999999999999999999999-", "bytes=10-,-0",
        "bytes=9223372036854775807-9223372036854775807",
    ])
    func rangesPastTheEndAreUnsatisfiable(field: String) {
        #expect(RangeRequest(field, of: 10) == .unsatisfiable)
    }

    /// An invalid field is ignored.
    @Test(arguments: [
        nil, "", "bytes", "bytes=", "bytes=,", "bytes=-", "bytes=1", "bytes=2-1", "bytes=a-b", "bytes=1-2-3",
        "bytes=+1-2", "bytes=0x1-2", "bytes 1-2", "lines=1-2", "bytes=1 - 2", "bytes=--1", "bytes=1-2;3-4", "=1-2",
        "bytes=1-x,2-3",
    ])
    func anInvalidFieldMeansTheWhole(field: String?) {
        #expect(RangeRequest(field, of: 10) == .whole)
    }

    @Test func emptyContentHasNoRanges() {
        #expect(RangeRequest("bytes=0-", of: 0) == .unsatisfiable)
        // Satisfiable by the specification, but no Content-Range can describe it.
        #expect(RangeRequest("bytes=-1", of: 0) == .whole)
    }

    /// The limit is 100.
    @Test func tooManyRangesMeanTheWhole() {
        let items = (0..<101).map { "\(2 * $0)-\(2 * $0)" }
        #expect(RangeRequest("bytes=" + items.joined(separator: ","), of: 1000) == .whole)
        let ranges = (0..<100).map { Int64(2 * $0)..<Int64(2 * $0 + 1) }
        #expect(RangeRequest("bytes=" + items.dropLast().joined(separator: ","), of: 1000) == .ranges(ranges))
    }
}
