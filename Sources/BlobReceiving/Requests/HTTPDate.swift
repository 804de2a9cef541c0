import BlobPlatform

/// A time in the formats of header fields (RFC 9110, section 5.6.7).
package struct HTTPDate {
    private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let months = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// The seconds since 1970.
    let seconds: Int64

    package init(seconds: Int64) { self.seconds = seconds }

    /// Parses a date in the preferred format or in one of the two obsolete ones.
    init?(_ text: String) {
        var words = text.split { " ,-:".contains($0) }
        // In the format of asctime(3), the year is last: Sun Nov  6 08:49:37 1994
        if words.count == 7 { words = [words[0], words[2], words[1], words[6], words[3], words[4], words[5], "GMT"] }
        guard words.count == 8, words[7] == "GMT", Self.days.contains(String(words[0].prefix(3))),
            let month = Self.months.firstIndex(of: String(words[2]))
        else { return nil }
        let numbers = [words[1], words[3], words[4], words[5], words[6]].compactMap { RequestHead.byteCount($0) }
        guard numbers.count == 5, (1...31).contains(numbers[0]), numbers[1] < 10_000, numbers[2] < 24, numbers[3] < 60,
            numbers[4] <= 60
        else { return nil }
        var (now, parts) = (time(nil), tm())
        gmtime_r(&now, &parts)
        var year = Int(numbers[1])
        if words[3].count == 2 {
            // The most recent year, unless it is less than fifty years in the future.
            year += (Int(parts.tm_year) + 1900) / 100 * 100
            if year > Int(parts.tm_year) + 1900 + 50 { year -= 100 }
        }
        parts = tm()
        (parts.tm_year, parts.tm_mon, parts.tm_mday) = (CInt(year - 1900), CInt(month), CInt(numbers[0]))
        (parts.tm_hour, parts.tm_min, parts.tm_sec) = (CInt(numbers[2]), CInt(numbers[3]), 0)
        self.seconds = Int64(timegm(&parts)) + numbers[4]
        // A day that the month does not have belongs to the next month now.
        guard parts.tm_mday == numbers[0] else { return nil }
    }

    /// The date in the preferred format.
    package var text: String {
        var (time, parts) = (time_t(self.seconds), tm())
        gmtime_r(&time, &parts)
        let padded = { (number: CInt) in number < 10 ? "0\(number)" : "\(number)" }
        let clock = [parts.tm_hour, parts.tm_min, parts.tm_sec].map(padded).joined(separator: ":")
        let date = "\(padded(parts.tm_mday)) \(Self.months[Int(parts.tm_mon)]) \(1900 + parts.tm_year)"
        return "\(Self.days[Int(parts.tm_wday)]), \(date) \(clock) GMT"
    }
}
