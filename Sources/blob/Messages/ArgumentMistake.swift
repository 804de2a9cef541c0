import ArgumentParser
import BlobStandardSources

extension ParsableCommand {
    /// Returns the error for a mistake in the arguments that the parser found, on which it may have a better word.
    static func mistake(_ error: any Error, in arguments: [String]) -> BlobError {
        let message = Self.message(for: error)
        let commands = Self.configuration.subcommands.filter { $0.configuration.shouldDisplay }.compactMap {
            $0.configuration.commandName
        }
        guard let first = arguments.first, !first.hasPrefix("-"), !commands.contains(first), first != "help",
            message.contains("nexpected argument")
        else { return BlobError(.invalidArgument, message) }
        let suggestion = Suggestion.nearest(to: first, among: commands).map { " Did you mean '\($0)'?" } ?? ""
        return BlobError(
            .invalidArgument,
            "'\(first)' is no command.\(suggestion) The commands: \(commands.joined(separator: ", ")).")
    }
}
