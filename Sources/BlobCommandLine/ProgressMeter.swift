import BlobCore

/// The state of a progress line: the current count, its rate over the last few seconds, and stalls. Performs no I/O.
package struct ProgressMeter: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// The unit of the count.
    package enum Unit: Hashable, Sendable {
        case bytes
        /// Items with this name, in the singular. The plural adds an `s`.
        case items(String)
    }

    /// The period over which the rate is measured.
    private static let window = Duration.seconds(5)
    /// The interval between two samples, which limits their number regardless of how often the count changes.
    private static let sampleInterval = Duration.milliseconds(250)
    /// The time without any progress after which the line shows a stall.
    private static let stallLimit = Duration.seconds(2)
    private static let barWidths = 10...40

    private let unit: Unit
    private var count: Int64 = 0
    private var total: Int64?
    private var note = ""
    /// The counts at several times, oldest first. The first count is the base of the rate.
    private var samples: [(instant: Instant, count: Int64)]
    private var lastAdvance: Instant

    package init(_ unit: Unit = .bytes, at now: Instant) {
        self.unit = unit
        self.samples = [(now, 0)]
        self.lastAdvance = now
    }

    /// Records the current count.
    ///
    /// - Parameters:
    ///   - count: The total count so far, which may decrease if work is repeated.
    ///   - total: The count at the end; nil if unknown.
    ///   - note: The beginning of the line.
    package mutating func advance(to count: Int64, of total: Int64?, note: String, at now: Instant) {
        if count != self.count { self.lastAdvance = now }
        (self.count, self.total, self.note) = (count, total, note)
        guard let last = self.samples.last, now - last.instant >= Self.sampleInterval else { return }
        self.samples.append((now, count))
        while self.samples.count > 2, now - self.samples[1].instant >= Self.window { self.samples.removeFirst() }
    }

    /// Returns the line at a point in time, shorter than `width` columns.
    package func line(width: Int, at now: Instant) -> String {
        var parts: [String] = []
        let total = self.total.flatMap { $0 > 0 ? $0 : nil }
        if let total { parts.append("\(Int(100 * self.fraction(of: total)))%") }
        if self.unit == .bytes { parts += self.pace(total, at: now) }
        let amount = self.note + self.amount(of: total)
        // If space is limited, whole parts are dropped: the time left, then the rate; during a stall, the percentage.
        while parts.count > 1, amount.count + 2 + parts.joined(separator: ", ").count >= width {
            parts.remove(at: self.isStalled(at: now) ? 0 : parts.count - 1)
        }
        let rest = parts.joined(separator: ", ")
        let barWidth = min(width - amount.count - rest.count - 5, Self.barWidths.upperBound)
        let bar = total.flatMap { barWidth < Self.barWidths.lowerBound ? nil : self.bar(of: $0, width: barWidth) }
        let separator = rest.isEmpty ? "" : bar.map { " \($0) " } ?? ", "
        return String((amount + separator + rest).prefix(max(width - 1, 0)))
    }

    private func fraction(of total: Int64) -> Double { min(1, max(0, Double(self.count) / Double(total))) }

    private func amount(of total: Int64?) -> String {
        switch self.unit {
        case .bytes: byteCountText(self.count) + (total.map { " of \(byteCountText($0))" } ?? "")
        case .items(let name):
            "\(self.count)\(total.map { " of \($0)" } ?? "") \((total ?? self.count) == 1 ? name : name + "s")"
        }
    }

    private func isStalled(at now: Instant) -> Bool {
        self.unit == .bytes && now - self.lastAdvance >= Self.stallLimit
    }

    /// Returns the rate and the time left, or the duration of a stall.
    private func pace(_ total: Int64?, at now: Instant) -> [String] {
        guard !self.isStalled(at: now) else { return ["stalled \(Self.text((now - self.lastAdvance).seconds))"] }
        let base = self.samples[0]
        // The difference and the rate may exceed 64 bits.
        let rate = (Double(self.count) - Double(base.count)) / max((now - base.instant).seconds, 0.001)
        let pace = "\(byteCountText(Int64(min(max(rate, 0), 1e18))))/s"
        guard let total, rate >= 1, self.count < total else { return [pace] }
        return [pace, "\(Self.text((Double(total) - Double(self.count)) / rate)) left"]
    }

    private func bar(of total: Int64, width: Int) -> String {
        let filled = Int(self.fraction(of: total) * Double(width))
        let head = filled < width ? ">" : ""
        let rest = String(repeating: " ", count: max(width - filled - 1, 0))
        return "[\(String(repeating: "=", count: filled))\(head)\(rest)]"
    }

    /// Returns a number of seconds as `5 s`, `1:05` or `2:01:05`, or as `over 99 hours` beyond that.
    private static func text(_ seconds: Double) -> String {
        let seconds = Int(min(seconds, 360_000))
        let twoDigits = { (value: Int) in value < 10 ? "0\(value)" : "\(value)" }
        switch seconds {
        case ..<60: return "\(seconds) s"
        case ..<3600: return "\(seconds / 60):\(twoDigits(seconds % 60))"
        case ..<360_000: return "\(seconds / 3600):\(twoDigits(seconds / 60 % 60)):\(twoDigits(seconds % 60))"
        default: return "over 99 hours"
        }
    }
}

extension Duration {
    fileprivate var seconds: Double { Double(self.components.seconds) + Double(self.components.attoseconds) / 1e18 }
}
