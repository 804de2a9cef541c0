import BlobPlatform

/// The moment of a signature, in UTC.
struct SigningTime: Sendable, Equatable {
    /// The date and the time: `20130524T000000Z`.
    let text: String

    /// The date: `20130524`.
    var date: String { String(self.text.prefix(8)) }

    /// - Parameter seconds: The number of seconds since 1970.
    init(secondsSince1970 seconds: Int64) {
        var (clock, parts) = (time_t(seconds), tm())
        gmtime_r(&clock, &parts)
        let numbers = [parts.tm_mon + 1, parts.tm_mday, parts.tm_hour, parts.tm_min, parts.tm_sec].map { number in
            (number < 10 ? "0" : "") + String(number)
        }
        let date = String(parts.tm_year + 1900) + numbers[..<2].joined()
        self.text = "\(date)T\(numbers[2...].joined())Z"
    }
}
