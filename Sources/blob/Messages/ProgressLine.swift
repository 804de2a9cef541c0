#if Command
import ArgumentParser
import BlobCommandLine
import BlobCore
import BlobPlatform
import BlobStreamsStandard

/// The progress line on standard error. A process shows one line at a time.
///
/// The line is redrawn at most ten times a second as the count changes; otherwise, a thread redraws it twice a second,
/// so that a stall is visible.
struct ProgressLine: Sendable {
    private static let interval = Duration.milliseconds(100)
    private static let idleMicroseconds: UInt32 = 500_000
    private static let defaultWidth = 80

    private struct Screen {
        var meter = ProgressMeter(at: .now)
        /// True from the first count until ``clear()``. While it is false, other output may be printed.
        var isActive = false
        var nextDrawTime = ContinuousClock.now
        /// The width of the line currently shown on standard error.
        var shownWidth = 0
        var hasThread = false
    }

    // The lock is held while a line is written, which also keeps lines and notices in order.
    private static let screen = Locked(Screen())

    let isShown: Bool

    /// - Parameters:
    ///   - unit: The unit of the count.
    ///   - writesData: True if data is written to standard output. On a terminal, the line and the data would be mixed.
    init(_ mode: ProgressMode, of unit: ProgressMeter.Unit = .bytes, writesData: Bool = false) {
        self.isShown =
            mode == .always
            || mode == .auto && !Verbosity.isQuiet && isatty(STDERR_FILENO) == 1
                && !(writesData && isatty(STDOUT_FILENO) == 1)
        guard self.isShown else { return }
        _ = Self.erasesAtBrokenPipe
        Self.screen.withLock { screen in
            (screen.meter, screen.isActive) = (ProgressMeter(unit, at: .now), unit == .bytes)
            guard !screen.hasThread else { return }
            screen.hasThread = true
            // Without the thread, a stall would not be visible.
            _ = startThread(named: "progress", Self.runDrawLoop)
        }
    }

    /// Shows a count, immediately if enough time has passed since the last update.
    ///
    /// - Parameters:
    ///   - total: The count at the end; nil if unknown.
    ///   - note: The beginning of the line.
    func show(_ count: Int64, of total: Int64?, note: @autoclosure () -> String = "") {
        guard self.isShown else { return }
        Self.screen.withLock { screen in
            let now = ContinuousClock.now
            screen.meter.advance(to: count, of: total, note: note(), at: now)
            screen.isActive = true
            if now >= screen.nextDrawTime { Self.draw(&screen, now) }
        }
    }

    /// Erases the line so that other output can be printed; the next count shows it again.
    func clear() {
        guard self.isShown else { return }
        Self.screen.withLock { screen in
            screen.isActive = false
            Self.erase(&screen)
        }
    }

    /// Prints a text in place of the line; the line reappears below it.
    ///
    /// Prints nothing if `--quiet` is set.
    static func printNotice(_ text: String) {
        if !Verbosity.isQuiet { self.printError(text, .notice) }
    }

    /// Prints a text as ``printNotice(_:)`` does, regardless of `--quiet`.
    static func printError(_ text: String, _ level: ActivityLog.Level = .error) {
        guard Verbosity.hasJSONLog else { return self.printLog(text) }
        let message = text.split(separator: "\n").map { $0.trimmingPrefix("blob: ") }.joined(separator: "\n")
        self.printLog(LogLine(level: level, message: message).text(.json))
    }

    /// Prints lines in place of the progress line, as they are.
    static func printLog(_ text: String) {
        self.screen.withLock { screen in
            self.erase(&screen)
            printToStandardError(text)
        }
    }

    /// Erases the line if a closed standard output ends the process.
    private static let erasesAtBrokenPipe: Void = {
        signal(SIGPIPE) { number in
            // Calls only functions that a signal handler may call; see signal-safety(7).
            var text: (UInt8, UInt8, UInt8, UInt8) = (0x0D, 0x1B, 0x5B, 0x4B)  // The line from its beginning: ECMA-48.
            _ = write(STDERR_FILENO, &text, 4)
            signal(number, SIG_DFL)
            raise(number)
        }
    }()

    private static func runDrawLoop() {
        while true {
            usleep(self.idleMicroseconds)
            self.screen.withLock { screen in
                let now = ContinuousClock.now
                if screen.isActive, now >= screen.nextDrawTime { self.draw(&screen, now) }
            }
        }
    }

    private static func draw(_ screen: inout Screen, _ now: ContinuousClock.Instant) {
        let line = screen.meter.line(width: self.width, at: now)
        let padding = String(repeating: " ", count: max(0, screen.shownWidth - line.count))
        printToStandardError("\r" + line + padding)
        (screen.shownWidth, screen.nextDrawTime) = (line.count, now + self.interval)
    }

    private static func erase(_ screen: inout Screen) {
        guard screen.shownWidth > 0 else { return }
        printToStandardError("\r" + String(repeating: " ", count: screen.shownWidth) + "\r")
        screen.shownWidth = 0
    }

    /// The number of columns of the terminal, which can change at any time.
    private static var width: Int {
        var size = winsize()
        guard ioctl(STDERR_FILENO, UInt(TIOCGWINSZ), &size) == 0, size.ws_col > 0 else { return self.defaultWidth }
        return Int(size.ws_col)
    }
}

enum ProgressMode: String, ExpressibleByArgument, CaseIterable {
    case auto, always, never
}
#endif
