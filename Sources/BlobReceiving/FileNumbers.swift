import BlobCore
import BlobPlatform

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
