#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard

/// The options whose values may be secrets.
private let secretOptions = ["-H", "-u", "-x", "-F", "--header", "--user", "--proxy", "--form"]

extension ParsableCommand {
    /// Returns an error for arguments that the parser rejected, with a better message than the parser's where possible.
    static func mistake(_ error: any Error, in arguments: [String]) -> BlobError {
        if let error = self.unknownCommand(in: arguments) ?? self.unknownOption(in: arguments) { return error }
        // The parser prints each possible usage on its own line.
        let message = Self.withoutSecrets(
            Self.message(for: error).replacing("\n   or: ", with: "; or: "), arguments)
        for argument in arguments.prefix(while: { $0 != "--" })
        where argument.hasPrefix("-") && message.contains("'\(argument)'") && Self.isFile(argument) {
            return BlobError(
                .invalidArgument,
                "'\(argument)' looks like options; use './\(argument)' or put '--' before it.")
        }
        return BlobError(.invalidArgument, message + Self.choices(in: message, arguments))
    }

    /// Returns the sentence with the values of the option in a message about an invalid value; empty if the parser has
    /// listed them, as it does for the options of the short help.
    private static func choices(in message: String, _ arguments: [String]) -> String {
        guard let name = message.firstMatch(of: /is invalid for '(--?[\w-]+)/)?.1,
            !message.contains("Please provide"),
            let option = CommandOptions(of: BlobCommand.command(in: arguments).type).option(String(name)),
            let values = option.allValues, !values.isEmpty
        else { return "" }
        return ". Valid values: \(values.joined(separator: ", "))."
    }

    /// Returns the error for a word such as `-dash.txt`, in which the parser finds `-h`; nil if help was requested.
    static func fileTakenForHelp(in arguments: [String]) -> BlobError? {
        let words = arguments.prefix { $0 != "--" }
        let asksForHelp = words.contains { ["-h", "--help", "-help", "--version"].contains($0) }
        let word = words.first { word in
            word.hasPrefix("-") && !word.hasPrefix("--") && word.contains("h") && word.utf8.count > 2
                && !secretOptions.contains { word.hasPrefix($0) }
        }
        guard !asksForHelp, let word else { return nil }
        return BlobError(.invalidArgument, "'\(word)' looks like an option; use './\(word)' or put '--' before it.")
    }

    /// Returns the error for the first long option that the command does not define; nil if all options are known.
    ///
    /// The parser's own suggestion may have little in common with the option.
    private static func unknownOption(in arguments: [String]) -> BlobError? {
        let (type, rest) = BlobCommand.command(in: arguments)
        let command = CommandOptions(of: type)
        let words = rest.prefix { $0 != "--" }
        for (index, word) in zip(words.indices, words) where word.hasPrefix("--") {
            let name = String(word.prefix { $0 != "=" })
            let isValue = index > words.startIndex && command.option(words[index - 1])?.takesValue == true
            guard !isValue, command.option(name) == nil, !["--help", "--version"].contains(name) else { continue }
            let suggestion = Suggestion.nearest(to: name, among: command.texts)
            let path = (["blob"] + arguments.dropLast(rest.count)).joined(separator: " ")
            let advice = suggestion.map { "Did you mean '\($0)'?" } ?? "'\(path) --help all' lists the options."
            return BlobError(.invalidArgument, "Unknown option '\(printable(name))'. \(advice)")
        }
        return nil
    }

    /// Returns the error for the first unknown command name among the words; nil if there is no such word.
    static func unknownCommand(in words: some Sequence<String>) -> BlobError? {
        var path = [Self.configuration.commandName ?? ""]
        var commands = Self.configuration.subcommands
        for word in words {
            guard !commands.isEmpty, !word.hasPrefix("-") else { return nil }
            if let command = commands.first(where: { $0.configuration.commandName == word }) {
                commands = command.configuration.subcommands
                path.append(word)
                continue
            }
            guard word != "help" else { return nil }
            if path.count == 1, word == LocatorHelp.topic {
                return BlobError(.invalidArgument, "Unknown command '\(word)': 'blob help \(word)' explains locators.")
            }
            if path.count == 1, word == "check" {
                return BlobError(
                    .invalidArgument,
                    "The command 'check' was removed: use 'blob test' for files and archives. Plugins are verified in "
                        + "Swift, with violations(of:expecting:) of BlobStreamsTesting.")
            }
            let names = commands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
            let suggestion = Suggestion.nearest(to: word, among: names).map { " Did you mean '\($0)'?" } ?? ""
            let parent = path.count == 1 ? "" : " of '\(path.joined(separator: " "))'"
            return BlobError(
                .invalidArgument,
                "Unknown command '\(printableArgument(word))'\(parent).\(suggestion) "
                    + "Commands: \(names.joined(separator: ", ")).")
        }
        return nil
    }

    /// Returns a message from the parser, with possible secrets in the quoted arguments masked.
    private static func withoutSecrets(_ message: String, _ arguments: [String]) -> String {
        var (text, isValue) = (message, false)
        for argument in arguments {
            let beginning = secretOptions.map { $0.hasPrefix("--") ? "\($0)=" : $0 }
                .first { argument.hasPrefix($0) && argument != $0 }
            let shown = isValue ? "***" : beginning.map { "\($0)***" } ?? printableArgument(argument)
            isValue = secretOptions.contains(argument)
            if shown != argument { text = text.replacing("'\(argument)'", with: "'\(shown)'") }
        }
        return text
    }

    private static func isFile(_ path: String) -> Bool { FileStatus(at: path, followingLinks: false) != nil }
}
#endif
