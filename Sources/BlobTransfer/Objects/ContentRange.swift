/// The value of a `Content-Range` field (RFC 9110, section 14.4).
struct ContentRange: Equatable {
    /// The range of the bytes in the answer; nil when the asked one is outside of the object.
    let bytes: Range<Int64>?
    /// The length of the object; nil when the server does not know it.
    let byteCount: Int64?

    /// Returns nil for a text that is not valid, and for a range that does not fit the length.
    init?(_ text: String) {
        let words = text.split(separator: " ", maxSplits: 1, omittingEmptySubsequences: false)
        guard words.count == 2, words[0].lowercased() == "bytes" else { return nil }
        let parts = words[1].split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let byteCount = Self.number(parts[1])
        guard byteCount != nil || parts[1] == "*" else { return nil }
        self.byteCount = byteCount
        guard parts[0] != "*" else {
            self.bytes = nil
            return
        }
        let ends = parts[0].split(separator: "-", omittingEmptySubsequences: false)
        guard ends.count == 2, let first = Self.number(ends[0]), let last = Self.number(ends[1]), first <= last,
            last < byteCount ?? .max
        else { return nil }
        self.bytes = first..<(last + 1)
    }

    /// True when the answer has the whole object, which is not empty.
    var isWhole: Bool { self.bytes?.lowerBound == 0 && self.bytes?.upperBound == self.byteCount }

    private static func number(_ digits: Substring) -> Int64? {
        !digits.isEmpty && digits.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64(digits) : nil
    }
}
