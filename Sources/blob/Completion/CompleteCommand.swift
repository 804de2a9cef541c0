import ArgumentParser

/// The completion of a command line, for the scripts of shells.
struct CompleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "complete", abstract: "Prints what the last word can be completed to, one per line.",
        discussion: "The words are those behind the name of the command.", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var words: [String] = []

    func run() {}

    /// - Parameter dump: The description of all commands, as the argument parser makes it.
    func printCandidates(_ dump: String) throws {
        let words = self.words.first == "--" ? Array(self.words.dropFirst()) : self.words
        guard let last = words.last, let tree = CommandTree(dump: dump) else { return }
        for candidate in Self.candidates(for: last, behind: Array(words.dropLast()), tree) { try printLine(candidate) }
    }

    private static func candidates(for word: String, behind words: [String], _ tree: CommandTree) -> [String] {
        var command = tree
        var rest = words[...]
        while let name = rest.first, let next = command.subcommands?.first(where: { $0.commandName == name }) {
            command = next
            rest = rest.dropFirst()
        }
        let isBehindTerminator = rest.contains("--")
        if !isBehindTerminator {
            if let option = rest.last.flatMap(command.option), option.takesValue {
                return self.values(of: option, beginning: word)
            }
            if word.hasPrefix("--"), let end = word.firstIndex(of: "="),
                let option = command.option(String(word[..<end]))
            {
                let name = word[...end]
                return self.values(of: option, beginning: String(word[end...].dropFirst())).map { name + $0 }
            }
            if word.hasPrefix("-"), word != "-" {
                return (command.optionTexts + ["--help"]).filter { $0.hasPrefix(word) }
            }
        }
        if let subcommands = command.subcommands, !subcommands.isEmpty, rest.isEmpty {
            return subcommands.filter { $0.shouldDisplay && $0.commandName.hasPrefix(word) }.map(\.commandName)
        }
        return LocatorCompletion.candidates(for: word)
    }

    private static func values(of option: CommandTree.Argument, beginning word: String) -> [String] {
        if let values = option.allValues, !values.isEmpty { return values.filter { $0.hasPrefix(word) } }
        // The value of a form's part, of which the locator follows.
        if let mark = word.firstIndex(where: { "=<@".contains($0) }), option.valueName == "part" {
            let start = word[mark...].drop { "=<@".contains($0) }.startIndex
            return LocatorCompletion.candidates(for: String(word[start...])).map { word[..<start] + $0 }
        }
        let named = (option.valueName ?? "").split(separator: "|").map(String.init)
            .filter { !["path", "file", "bytes", "ratio"].contains($0) && option.valueName?.contains("|") == true }
        return named.filter { $0.hasPrefix(word) } + LocatorCompletion.files(beginning: word)
    }
}
