#if Command
import BlobPlatform
import BlobStreamsStandard

/// Completes locators: files, wrappers, schemes, and members of archives after a `#`.
enum LocatorCompletion {
    /// The time limit for listing an archive and the maximum number of names to print, kept low because the user is
    /// waiting.
    private static let timeLimit = Duration.seconds(1)
    private static let maximumCount = 1000

    static func candidates(for word: String) -> [String] {
        if let mark = self.lastMark(in: word) {
            let names = self.members(of: String(word[..<mark.lowerBound]), beginning: String(word[mark.upperBound...]))
            return names.map { word[..<mark.upperBound] + $0 }
        }
        // A wrapper is followed by a file.
        let start = word.lastIndex(of: "+").map { word.index(after: $0) } ?? word.startIndex
        let isPlain = !word[start...].contains("/") && !word[start...].contains(":")
        let schemes = BlobRegistry.forCommand(library: nil).providers.flatMap { provider in
            provider.schemes.map { scheme in
                if case .origin = provider.kind { "\(scheme):" } else { "\(scheme)+" }
            }
        }
        let known = isPlain && start < word.endIndex ? schemes.sorted().filter { $0.hasPrefix(word[start...]) } : []
        return (known + self.files(beginning: String(word[start...]))).map { word[..<start] + $0 }
    }

    /// Returns the paths of matching files; the path of a folder ends with a slash.
    static func files(beginning path: String) -> [String] {
        let end = path.lastIndex(of: "/").map { path.index(after: $0) } ?? path.startIndex
        let (folder, beginning) = (String(path[..<end]), path[end...])
        let names = (try? FileManager.default.contentsOfDirectory(atPath: folder.isEmpty ? "." : folder)) ?? []
        return names.sorted().filter { name in
            name.hasPrefix(beginning) && !name.contains("\n") && (beginning.hasPrefix(".") || !name.hasPrefix("."))
        }.prefix(self.maximumCount).map { name in
            let path = folder + name
            return FileStatus(at: path)?.isFolder == true ? path + "/" : path
        }
    }

    /// Returns the range of the mark before a member name: the last `!/` after a `#`, otherwise the first `#`; nil if
    /// the word contains no `#`.
    private static func lastMark(in word: String) -> Range<String.Index>? {
        guard let hash = word.firstIndex(of: "#") else { return nil }
        let start = word[hash...].indices.last { word[$0...].hasPrefix("!/") }
        return start.map { $0..<word.index($0, offsetBy: 2) } ?? hash..<word.index(after: hash)
    }

    /// Returns the names of members as written in a locator, each up to the next slash.
    private static func members(of archive: String, beginning: String) -> [String] {
        let registry = BlobRegistry.forCommand(library: nil)
        // Completion never reads from the network or from standard input.
        guard let locator = try? registry.locator(for: archive), locator.origin.text.hasPrefix("file:") else {
            return []
        }
        let context = BlobContext(deadline: .now + self.timeLimit, index: .automatic)
        guard let container = try? registry.openContainer(for: locator, context) else { return [] }
        var (found, seen): ([String], Set<String>) = ([], [])
        // The names before an error are still valid candidates.
        try? container.forEachMember(context) { member in
            let name = member.printableName
            guard name.hasPrefix(beginning), name != beginning else { return true }
            let rest = name.dropFirst(beginning.count)
            let part = beginning + (rest.firstIndex(of: "/").map { rest[...$0] } ?? rest)
            if seen.insert(part).inserted { found.append(part) }
            return found.count < self.maximumCount
        }
        return found
    }
}
#endif
