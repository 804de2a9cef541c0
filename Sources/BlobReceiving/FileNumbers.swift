import BlobStreams
import Foundation

/// Finds names that are free: `NAME`, or `NAME-2`, `NAME-3`... where files of that name arrived before.
///
/// Remembers the numbers that were given, so that a name that comes again costs as much as the first time.
final class FileNumbers: Sendable {
    /// For all of the process.
    static let shared = FileNumbers()

    /// As many names as are remembered; all are forgotten when there are more, and then looked for again.
    private static let maximumNameCount = 100_000

    private let next = Locked<[String: Int]>([:])

    /// Calls `claim` with one path after the other until it says true, and returns that path.
    ///
    /// Numbers grow in the order of the calls. Where earlier runs left files, gaps between their numbers may stay.
    ///
    /// - Parameter claim: Says false when there is such a file, and makes it otherwise.
    /// - Complexity: O(1) calls of `claim` for each name; O(log n) checks where n files of that name are unknown.
    func claim(
        _ path: String, _ claim: (String) throws(BlobError) -> Bool
    ) throws(BlobError) -> String {
        var number = self.next.withLock { $0[path] ?? 1 }
        while true {
            let candidate = Self.path(path, number)
            if try claim(candidate) {
                // A name that was free costs nothing to look for again.
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

    /// A number that is free, when `number` is not: in steps that double, and then by halves.
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
