import BlobPlatform

extension Date {
    /// The maximum distance from 1970, in seconds, at which a `Double` and a table of members have each second.
    private static let maximumSeconds = 1e15

    /// Creates the time of a member; nil when it cannot be represented exactly, to the second, or its nanoseconds are
    /// no part of a second.
    init?(seconds: Int64, nanoseconds: Int64) {
        guard (0..<1_000_000_000).contains(nanoseconds) else { return nil }
        self.init(memberTime: Double(seconds) + Double(nanoseconds) / 1_000_000_000)
    }

    /// Creates the time of a member, in seconds since 1970; nil when it cannot be represented exactly, to the second.
    init?(memberTime seconds: Double) {
        guard abs(seconds) < Self.maximumSeconds else { return nil }
        self.init(timeIntervalSince1970: seconds)
    }
}
