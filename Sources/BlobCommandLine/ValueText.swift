import BlobPlatform

/// Returns a byte count with up to three digits and a unit based on powers of 1000, such as `12.3 MB`.
package func byteCountText(_ byteCount: Int64) -> String {
    var value = Double(byteCount)
    for unit in ["B", "kB", "MB", "GB", "TB"] {
        if value < 999.5 {
            let text = value < 99.5 && unit != "B" ? "\((value * 10).rounded() / 10)" : "\(Int(value.rounded()))"
            return "\(text) \(unit)"
        }
        value /= 1000
    }
    return "\(Int(value.rounded())) PB"
}

/// Returns the value of a fact as text: a number without grouping, a date in ISO 8601 format (UTC), "yes" or "no".
///
/// Text is returned unchanged, and may contain control characters. A date outside the calendar's range is shown as a
/// number of seconds, with a note.
package func factText(_ value: any Sendable) -> String {
    switch value {
    case let date as Date where date.isInCalendarRange: date.ISO8601Format()
    case let date as Date: "\(date.timeIntervalSince1970) seconds from 1970, outside the calendar"
    case let isTrue as Bool: isTrue ? "yes" : "no"
    default: "\(value)"
    }
}

extension Date {
    /// True from 1582-10-15 to the end of the year 9999, because archive formats can contain any number.
    package var isInCalendarRange: Bool { (-12_219_292_800..<253_402_300_800).contains(self.timeIntervalSince1970) }
}
