import ArgumentParser
import BlobPlatform
import BlobStreamsStandard

extension ParsableCommand {
    /// Returns the error for a mistake in the arguments that the parser found, on which it may have a better word.
    static func mistake(_ error: any Error, in arguments: [String]) -> BlobError {
        // The parser puts each reading of the arguments on a line.
        let message = Self.withoutSecrets(
            Self.message(for: error).replacing("\n   or: ", with: "; or: "), arguments)
        if message.contains("nexpected argument"), arguments.first != "help",
            let error = self.unknownCommand(in: arguments)
        {
            return error
        }
        for argument in arguments.prefix(while: { $0 != "--" })
        where argument.hasPrefix("-") && message.contains("'\(argument)'") && Self.isFile(argument) {
            return BlobError(
                .invalidArgument,
                "'\(argument)' is taken for options: name the file as './\(argument)', or behind '--'.")
        }
        return BlobError(.invalidArgument, self.withoutFarSuggestion(message, arguments))
    }

    /// Returns the error for a word such as `-dash.txt`, in whose letters the parser finds the `h` of help although it
    /// does not know the others; nil when there is none.
    static func unknownLetters(in arguments: [String]) -> BlobError? {
        let words = arguments.prefix { $0 != "--" }
        guard !words.contains(where: { ["-h", "--help", "-help", "--version"].contains($0) }) else { return nil }
        for (index, word) in words.enumerated()
        where word.hasPrefix("-") && !word.hasPrefix("--") && word.contains("h") && word.utf8.count > 2 {
            var others = arguments
            others[index] = word.replacing("h", with: "")
            do {
                _ = try Self.parseAsRoot(others)
            } catch  where !Self.exitCode(for: error).isSuccess {
                guard Self.message(for: error).contains("nknown option") else { continue }
                return BlobError(
                    .invalidArgument, "'\(word)' looks like an option; use './\(word)' or put '--' before it.")
            } catch {}
        }
        return nil
    }

    /// Returns the error for the first of the words that should name a command and does not; nil when there is none.
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
            if path.count == 1, word == "check" {
                return BlobError(
                    .invalidArgument,
                    "'check' is no command any more: 'blob test' verifies files and archives, and plugins are verified "
                        + "in Swift, by violations(of:expecting:) of BlobStreamsTesting.")
            }
            let names = commands.filter { $0.configuration.shouldDisplay }.compactMap { $0.configuration.commandName }
            let suggestion = Suggestion.nearest(to: word, among: names).map { " Did you mean '\($0)'?" } ?? ""
            let parent = path.count == 1 ? "" : " of '\(path.joined(separator: " "))'"
            return BlobError(
                .invalidArgument,
                "'\(printableArgument(word))' is no command\(parent).\(suggestion) The commands: \(names.joined(separator: ", "))."
            )
        }
        return nil
    }

    /// Returns a message in which the parser's suggestion is replaced when it is no slip of the word.
    private static func withoutFarSuggestion(_ message: String, _ arguments: [String]) -> String {
        guard let match = message.wholeMatch(of: /(Unknown option '([^']*)')\. Did you mean '([^']*)'\?/),
            Suggestion.nearest(to: String(match.2), among: [String(match.3)]) == nil
        else { return message }
        var words: [String] = []
        var commands = Self.configuration.subcommands
        for argument in arguments {
            guard let command = commands.first(where: { $0.configuration.commandName == argument }) else { break }
            commands = command.configuration.subcommands
            words.append(argument)
        }
        return "\(match.1). 'blob help \(words.joined(separator: " "))' lists the options."
    }

    /// Returns a message of the parser, which quotes arguments, without what may be secret in them.
    private static func withoutSecrets(_ message: String, _ arguments: [String]) -> String {
        let options = ["-H", "-u", "-x", "-F", "--header", "--user", "--proxy", "--form"]
        var (text, isValue) = (message, false)
        for argument in arguments {
            let beginning = options.map { $0.hasPrefix("--") ? "\($0)=" : $0 }
                .first { argument.hasPrefix($0) && argument != $0 }
            let shown = isValue ? "***" : beginning.map { "\($0)***" } ?? printableArgument(argument)
            isValue = options.contains(argument)
            if shown != argument { text = text.replacing("'\(argument)'", with: "'\(shown)'") }
        }
        return text
    }

    private static func isFile(_ path: String) -> Bool {
        var status = stat()
        return lstat(path, &status) == 0
    }
}
