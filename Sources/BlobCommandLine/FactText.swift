import Foundation

/// Returns the value of a fact as text: a number without grouping, a date as in ISO 8601 (UTC), "yes" or "no".
///
/// Text is left as it is, and may have control characters. Dates are clamped to the calendar: 1582-10-15 to the end of
/// the year 9999, because archive formats hold any number.
package func factText(_ value: any Sendable) -> String {
    switch value {
    case let date as Date: max(firstDate, min(date, lastDate)).ISO8601Format()
    case let isTrue as Bool: isTrue ? "yes" : "no"
    default: "\(value)"
    }
}

private let firstDate = Date(timeIntervalSince1970: -12_219_292_800)
private let lastDate = Date(timeIntervalSince1970: 253_402_300_799)
