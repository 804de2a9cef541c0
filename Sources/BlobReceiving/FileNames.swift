import BlobCore
import BlobPlatform

/// Converts names chosen by senders to safe file names.
package enum SafeFileName {
    /// The maximum length in bytes, which leaves room for a number and a mark in the 255 bytes of file systems.
    static let maximumByteCount = 200

    private static let kept = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._+,=@~".utf8)

    /// Returns a safe file name for any bytes, with all but plain characters written as `%XX`.
    ///
    /// The name is never empty, a path, hidden, or an option. Bytes past the limit are dropped.
    package static func make(from name: some Sequence<UInt8>) -> String {
        var text = ""
        for byte in name {
            let isOddFirst = text.isEmpty && (byte == UInt8(ascii: ".") || byte == UInt8(ascii: "-"))
            let piece = PercentEncoding.encode([byte], leaving: isOddFirst ? [] : Self.kept)
            guard text.utf8.count + piece.utf8.count <= Self.maximumByteCount else { break }
            text += piece
        }
        return text.isEmpty ? "upload" : text
    }
}

/// Finds unused file names: `NAME`, or `NAME-2`, `NAME-3` and so on if files of that name exist.
///
/// Remembers the numbers that were used, so that a repeated name costs no more than the first time.
final class FileNumbers: Sendable {
    /// The instance of the process.
    static let shared = FileNumbers()

    /// The maximum number of remembered names; when exceeded, all are forgotten and their numbers searched for again.
    private static let maximumNameCount = 100_000

    private let next = Locked<[String: Int]>([:])

    /// Calls `claim` with one path after another until it returns true, and returns that path.
    ///
    /// Numbers increase in the order of the calls. Gaps in the numbers of earlier runs may remain.
    ///
    /// - Parameter claim: Returns false if the file exists; otherwise creates it and returns true.
    /// - Complexity: O(1) calls of `claim` for each name; O(log n) checks if n files of that name are not remembered.
    func claim(
        _ path: String, _ claim: (String) throws(BlobError) -> Bool
    ) throws(BlobError) -> String {
        var number = self.next.withLock { $0[path] ?? 1 }
        while true {
            let candidate = Self.path(path, number)
            if try claim(candidate) {
                // An unnumbered name costs nothing to find again.
                if number > 1 { self.remember(number + 1, of: path) }
                return candidate
            }
            number = Self.freeNumber(of: path, above: number)
        }
    }

    private func remember(_ number: Int, of path: String) {
        self.next.withLock { next in
            if next.count >= Self.maximumNameCount { next = [:] }
            next[path] = max(number, next[path] ?? 0)
        }
    }

    /// Returns an unused number above `number`, which is in use: searches in doubling steps, then by bisection.
    private static func freeNumber(of path: String, above number: Int) -> Int {
        var (taken, step) = (number, 1)
        while Self.exists(Self.path(path, taken + step)) {
            taken += step
            step *= 2
        }
        var free = taken + step
        while free - taken > 1 {
            let middle = taken + (free - taken) / 2
            if Self.exists(Self.path(path, middle)) { taken = middle } else { free = middle }
        }
        return free
    }

    private static func path(_ path: String, _ number: Int) -> String { number == 1 ? path : "\(path)-\(number)" }

    private static func exists(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
