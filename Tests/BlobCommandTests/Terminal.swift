#if Command
import Foundation
import Testing

/// A pseudo-terminal of 80 columns, of which a process gets one end. Of Linux.
final class Terminal {
    /// The end for a process.
    let theirs: CInt
    private let ours: CInt
    private var bytes: [UInt8] = []

    init() throws {
        // The numbers of ioctl_tty(2), which Swift does not import, as it does not posix_openpt(3).
        let (unlock, getNumber): (UInt, UInt) = (0x4004_5431, 0x8004_5430)
        var (isLocked, number): (CInt, CInt) = (0, -1)
        self.ours = open("/dev/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(ioctl(self.ours, unlock, &isLocked) == 0 && ioctl(self.ours, getNumber, &number) == 0)
        self.theirs = open("/dev/pts/\(number)", O_RDWR | O_NOCTTY | O_CLOEXEC)
        try #require(self.theirs >= 0)
        var size = winsize(ws_row: 24, ws_col: 80, ws_xpixel: 0, ws_ypixel: 0)
        try #require(ioctl(self.ours, UInt(TIOCSWINSZ), &size) == 0)
        _ = fcntl(self.ours, F_SETFL, O_NONBLOCK)
    }

    deinit {
        close(self.theirs)
        close(self.ours)
    }

    /// All that was written so far.
    var text: String {
        withUnsafeTemporaryAllocation(byteCount: 1 << 16, alignment: 1) { buffer in
            while case let count = read(self.ours, buffer.baseAddress, buffer.count), count > 0 {
                self.bytes += buffer[..<count]
            }
        }
        return String(decoding: self.bytes, as: UTF8.self)
    }

    /// The lines that people see at the end, without spaces at their ends.
    var screen: [String] {
        self.text.split(separator: "\r\n", omittingEmptySubsequences: false).map { line in
            var columns: [Character] = []
            for part in line.split(separator: "\r", omittingEmptySubsequences: false) {
                // Erases the line.
                guard part != "\u{1B}[K" else {
                    columns = []
                    continue
                }
                columns.replaceSubrange(..<min(part.count, columns.count), with: part)
            }
            while columns.last == " " { columns.removeLast() }
            return String(columns)
        }
    }
}
#endif
