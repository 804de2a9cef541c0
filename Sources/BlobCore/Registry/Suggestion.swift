/// Finds the word that the user may have meant.
package enum Suggestion {
    /// The maximum length of a word that gets a suggestion, because comparing long words takes too long.
    private static let maximumLength = 255

    /// Returns the first of the candidates nearest to a word; nil if no candidate is similar enough for the word to be
    /// a typing error.
    ///
    /// - Complexity: O(total length of the candidates).
    package static func nearest(to word: String, among candidates: some Sequence<String>) -> String? {
        let limit = max(1, min(word.count / 3, 3))
        var best: (candidate: String, distance: Int)?
        let word = Array(word)
        guard word.count <= Self.maximumLength else { return nil }
        for candidate in candidates {
            let other = Array(candidate)
            guard other != word, abs(other.count - word.count) <= limit else { continue }
            let distance = Self.distance(word, other, atMost: limit)
            if distance <= limit, distance < best?.distance ?? .max { best = (candidate, distance) }
        }
        return best?.candidate
    }

    /// Returns the number of characters to insert, remove, replace, or swap with their neighbours.
    ///
    /// If the distance exceeds the limit, returns any number above the limit.
    private static func distance(_ word: [Character], _ other: [Character], atMost limit: Int) -> Int {
        let prefix = zip(word, other).prefix { $0 == $1 }.count
        let (word, other) = (Array(word[prefix...]), Array(other[prefix...]))
        var (last, current) = ([Int](), Array(0...other.count))
        for (row, character) in word.enumerated() {
            var next = [row + 1]
            for (column, own) in other.enumerated() {
                var best = min(
                    current[column] + (own == character ? 0 : 1), current[column + 1] + 1, next[column] + 1)
                if row > 0, column > 0, own == word[row - 1], other[column - 1] == character {
                    best = min(best, last[column - 1] + 1)
                }
                next.append(best)
            }
            guard next.contains(where: { $0 <= limit }) else { return limit + 1 }
            (last, current) = (current, next)
        }
        return current[other.count]
    }

    /// The wrappers, keyed by file extension.
    private static let wrappers = [
        "gz": "gzip", "bz": "bzip2", "bz2": "bzip2", "zst": "zstd", "7z": "sevenzip", "7zip": "sevenzip", "lz": "lzip",
        "tgz": "gzip",
    ]

    /// Returns the scheme that an unknown one may stand for: its format by file extension, or else the nearest one.
    package static func scheme(meantBy text: String, among schemes: [String]) -> String? {
        self.wrappers[text] ?? self.nearest(to: text, among: schemes)
    }
}
