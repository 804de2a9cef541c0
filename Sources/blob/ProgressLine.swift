import ArgumentParser
import BlobStreamsStandard
import Foundation

enum ProgressMode: String, ExpressibleByArgument, CaseIterable {
    case auto, always, never
}

/// A progress line on standard error, updated at most ten times a second.
struct ProgressLine {
    private static let interval = Duration.milliseconds(100)

    /// The width of the line that standard error shows now.
    private static let shownWidth = Locked(0)

    private let isShown: Bool
    private let start = ContinuousClock.now
    private var next = ContinuousClock.now
    private var width = 0

    init(_ mode: ProgressMode) {
        self.isShown = mode == .always || mode == .auto && isatty(STDERR_FILENO) == 1
    }

    /// - Parameter note: Begins the line.
    mutating func show(_ byteOffset: Int64, of byteCount: Int64?, note: String = "") {
        guard self.isDue else { return }
        let seconds = max((ContinuousClock.now - self.start).timeInterval, 0.001)
        let rate = Self.text(Int64(Double(byteOffset) / seconds))
        var line = note + Self.text(byteOffset)
        if let byteCount, byteCount > 0 {
            let percents = Int(min(100, 100 * Double(byteOffset) / Double(byteCount)))
            line += " of \(Self.text(byteCount)), \(percents)%"
        }
        line += ", \(rate)/s"
        self.print(line)
    }

    mutating func show(memberCount: Int) {
        guard self.isDue else { return }
        self.print(memberCount == 1 ? "1 member" : "\(memberCount) members")
    }

    private var isDue: Bool { self.isShown && ContinuousClock.now >= self.next }

    private mutating func print(_ line: String) {
        self.next = .now + Self.interval
        printToStandardError("\r" + line + String(repeating: " ", count: max(0, self.width - line.count)))
        self.width = line.count
        _ = Self.shownWidth.exchange(line.count)
    }

    /// Erases the line, so that something else can be printed.
    mutating func clear() {
        guard self.width > 0 else { return }
        Self.printNotice("")
        self.width = 0
    }

    /// Prints a text in the place of the line, which appears again below it.
    static func printNotice(_ text: String) {
        let width = Self.shownWidth.exchange(0)
        printToStandardError((width > 0 ? "\r" + String(repeating: " ", count: width) + "\r" : "") + text)
    }

    /// Returns a byte count as up to three digits and a unit of powers of 1000.
    private static func text(_ byteCount: Int64) -> String {
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
}
