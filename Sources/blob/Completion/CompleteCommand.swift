#if Command
import ArgumentParser
import BlobPlatform

/// Completes a command line for the completion scripts of shells.
struct CompleteCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "complete", abstract: "Prints the completions of the last word, one per line.",
        discussion: "The words are the arguments after 'blob'.", shouldDisplay: false)

    @Argument(parsing: .captureForPassthrough)
    var words: [String] = []

    func run() {}

    /// Prints the completions of the last word.
    ///
    /// - Parameter dump: The argument parser's description of all commands.
    func printCandidates(_ dump: String) throws {
        let words = self.words.first == "--" ? Array(self.words.dropFirst()) : self.words
        guard let last = words.last, let tree = CommandTree(dump: dump) else { return }
        for candidate in Self.candidates(for: last, after: Array(words.dropLast()), tree) { try printLine(candidate) }
    }

    private static func candidates(for word: String, after words: [String], _ tree: CommandTree) -> [String] {
        let (command, rest) = tree.command(in: words)
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
        // The value of an option for a form part, which contains a locator.
        if let mark = word.firstIndex(where: { "=<@".contains($0) }), option.valueName == "part" {
            let start = word[mark...].drop { "=<@".contains($0) }.startIndex
            return LocatorCompletion.candidates(for: String(word[start...])).map { word[..<start] + $0 }
        }
        let named = (option.valueName ?? "").split(separator: "|").map(String.init)
            .filter { !["path", "file", "bytes", "ratio"].contains($0) && option.valueName?.contains("|") == true }
        return named.filter { $0.hasPrefix(word) } + LocatorCompletion.files(beginning: word)
    }
}

/// The commands and their options, as described by the argument parser.
struct CommandTree: Decodable {
    /// An argument of a command.
    struct Argument: Decodable {
        struct Name: Decodable {
            let kind: String
            let name: String

            var text: String { self.kind == "long" ? "--\(self.name)" : "-\(self.name)" }
        }

        let kind: String
        let names: [Name]?
        let valueName: String?
        let allValues: [String]?
        let shouldDisplay: Bool

        var takesValue: Bool { self.kind == "option" }
    }

    private struct Document: Decodable { let command: CommandTree }

    let commandName: String
    let shouldDisplay: Bool
    let subcommands: [CommandTree]?
    let arguments: [Argument]?

    /// Creates the tree from the parser's dump of the top-level command; nil if the dump has another format.
    init?(dump: String) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(dump.utf8)) else { return nil }
        self = document.command
    }

    /// Returns the command that the words name, and the words that follow its name.
    func command(in words: some Collection<String>) -> (command: CommandTree, rest: ArraySlice<String>) {
        var (command, rest) = (self, Array(words)[...])
        while let name = rest.first, let next = command.subcommands?.first(where: { $0.commandName == name }) {
            command = next
            rest = rest.dropFirst()
        }
        return (command, rest)
    }

    /// Returns the option with this text; nil if the command does not define it.
    func option(_ text: String) -> Argument? {
        self.arguments?.first { $0.names?.contains { $0.text == text } == true }
    }

    /// The texts of all options.
    var optionTexts: [String] {
        (self.arguments ?? []).flatMap { $0.names ?? [] }.map(\.text)
    }
}
#endif
