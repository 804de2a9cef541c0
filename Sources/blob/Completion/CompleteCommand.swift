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

    func run() throws {
        let words = self.words.first == "--" ? Array(self.words.dropFirst()) : self.words
        guard let last = words.last else { return }
        for candidate in Self.candidates(for: last, after: Array(words.dropLast())) { try printLine(candidate) }
    }

    private static func candidates(for word: String, after words: [String]) -> [String] {
        let (command, rest) = BlobCommand.command(in: words)
        let options = CommandOptions(of: command)
        if !rest.contains("--") {
            if let option = rest.last.flatMap(options.option), option.takesValue {
                return self.values(of: option, beginning: word)
            }
            if word.hasPrefix("--"), let end = word.firstIndex(of: "="),
                let option = options.option(String(word[..<end]))
            {
                let name = word[...end]
                return self.values(of: option, beginning: String(word[end...].dropFirst())).map { name + $0 }
            }
            if word.hasPrefix("-"), word != "-" {
                let texts = options.texts.isEmpty ? ["--help", "--version"] : options.texts
                return texts.filter { $0.hasPrefix(word) }
            }
        }
        let subcommands = command.configuration.subcommands
        if !subcommands.isEmpty, rest.isEmpty {
            return subcommands.filter { $0.configuration.shouldDisplay }
                .compactMap { $0.configuration.commandName }.filter { $0.hasPrefix(word) }
        }
        return LocatorCompletion.candidates(for: word)
    }

    private static func values(of option: CommandOptions.Argument, beginning word: String) -> [String] {
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

/// The options of a command, as described by the argument parser.
struct CommandOptions {
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

        var takesValue: Bool { self.kind == "option" }
    }

    private struct Document: Decodable {
        struct Command: Decodable { let arguments: [Argument]? }

        let command: Command
    }

    private let arguments: [Argument]

    /// Creates the options of a command; of one with subcommands, which has none of its own, they are empty.
    init(of command: any ParsableCommand.Type) {
        // The parser would describe all subcommands, which takes much longer.
        let dump = command.configuration.subcommands.isEmpty ? command._dumpHelp() : ""
        let document = try? JSONDecoder().decode(Document.self, from: Data(dump.utf8))
        self.arguments = document?.command.arguments ?? []
    }

    /// Returns the option with this text; nil if the command does not define it.
    func option(_ text: String) -> Argument? {
        self.arguments.first { $0.names?.contains { $0.text == text } == true }
    }

    /// The texts of all options.
    var texts: [String] { self.arguments.flatMap { $0.names ?? [] }.map(\.text) }
}
#endif
