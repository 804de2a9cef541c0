#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

/// The `blob` command.
struct BlobCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "blob",
        abstract: "Reads files, web objects, archive members and photos as one stream.",
        discussion: """
            A LOCATOR is a path, '-' for standard input, or a URL such as file:///x.bin; see 'blob help locators'. An \
            error is one line on standard error, and the exit status indicates its kind (64 usage, 65 data, 66 not \
            found, 69 unavailable, 70 software, 74 input or output, 75 try again, 76 refused by a server, 77 \
            permission, 130 interrupted).
            """,
        version: commandVersion,
        subcommands: [
            CatCommand.self, FetchCommand.self, ListCommand.self, InfoCommand.self, SumCommand.self, TestCommand.self,
            FormCommand.self, ComposeCommand.self, ExtractCommand.self, IndexCommand.self, UploadCommand.self,
            JobCommand.self,
            ReceiveCommand.self, ServeCommand.self, LibraryCommand.self, SchemesCommand.self, CompleteCommand.self,
        ])
}

extension BlobCommand {
    /// Other words for `remove`, which are accepted but not listed.
    private static let removals = [
        ["index", "drop"], ["index", "rm"], ["library", "rm"], ["library", "album", "rm"],
        ["library", "quarantine", "rm"], ["library", "quarantine", "empty"],
    ]

    fileprivate static func withSynonymsReplaced(_ arguments: [String]) -> [String] {
        guard let path = self.removals.first(where: { arguments.starts(with: $0) }) else { return arguments }
        return path.dropLast() + ["remove"] + arguments.dropFirst(path.count)
    }

    /// Returns the command that the words name, and the words that follow its name.
    static func command(in words: [String]) -> (type: any ParsableCommand.Type, rest: ArraySlice<String>) {
        var (command, rest): (any ParsableCommand.Type, ArraySlice<String>) = (self, words[...])
        while let name = rest.first,
            let next = command.configuration.subcommands.first(where: { $0.configuration.commandName == name })
        {
            (command, rest) = (next, rest.dropFirst())
        }
        return (command, rest)
    }

    /// Parses the arguments of one command without building the tree of all commands, which is most of the parser's
    /// work.
    ///
    /// - Returns: `nil` if the tree is needed: for a command with subcommands, and for the version.
    fileprivate static func parsed(alone arguments: [String]) throws -> (any ParsableCommand)? {
        let (type, rest) = self.command(in: arguments)
        guard type.configuration.subcommands.isEmpty, !rest.contains("--version") else { return nil }
        let command = try type.parseAsRoot(Array(rest))
        return Swift.type(of: command) == type ? command : nil
    }
}

@main
enum Main {
    static func main() {
        ProcessSetup.run()
        let waitForLibraries = self.preloadLibraries()
        let status = self.runReporting()
        waitForLibraries()
        exit(status)
    }

    /// Runs the command, reports any error, and returns the status of the process.
    private static func runReporting() -> Int32 {
        do {
            try self.run()
            return 0
        } catch let error as BlobError {
            return self.status(after: error)
        } catch let status as ExitCode {
            return status.rawValue
        } catch {
            return self.status(after: BlobCommand.mistake(error, in: (try? RawArguments.decoded()) ?? []))
        }
    }

    private static func run() throws {
        // The parser would take longer than everything else together.
        if CommandLine.arguments.dropFirst() == ["--version"] { return try printLine(commandVersion) }
        do {
            var command = try self.parse()
            try command.run()
        } catch {
            setenv("COLUMNS", "80", 1)  // The parser cannot wrap help for very narrow terminals.
            guard BlobCommand.exitCode(for: error).isSuccess else { throw error }
            let arguments = (try? RawArguments.decoded()) ?? []
            if let mistake = BlobCommand.fileTakenForHelp(in: arguments) { throw mistake }
            // Help is not an error.
            let text = BlobCommand.fullMessage(for: error)
            guard text.hasPrefix("OVERVIEW: ") else { return try printLine(text) }
            let isTopic = arguments == ["help", LocatorHelp.topic]
            try printLine(
                isTopic
                    ? LocatorHelp.text
                    : CommandHelp(of: BlobCommand.self, path: "blob", for: arguments).text)
        }
    }

    private static func parse() throws -> any ParsableCommand {
        // Listed here, because testing each command for conformance takes a millisecond.
        let listCommands: [any NameListCommand.Type] = [CatCommand.self, SumCommand.self, TestCommand.self]
        assert(
            BlobCommand.configuration.subcommands.count { $0 is any NameListCommand.Type } == listCommands.count,
            "The list must contain each command that is a NameListCommand.")
        let names = listCommands.compactMap { $0.configuration.commandName }
        let arguments = BlobCommand.withSynonymsReplaced(try RawArguments.decoded(names))
        // For `help`, the parser ignores the words that it does not recognise.
        if arguments.first == "help", arguments != ["help", LocatorHelp.topic],
            let error = BlobCommand.unknownCommand(in: arguments.dropFirst())
        {
            throw error
        }
        let command = try BlobCommand.parsed(alone: arguments) ?? BlobCommand.parseAsRoot(arguments)
        if let list = command as? any NameListCommand { return try list.separated() }
        return command
    }

    /// Reports an error and returns the status of the process.
    private static func status(after error: BlobError) -> Int32 {
        while !Interrupts.claimReport() { pause() }  // The thread that handles interrupts is ending the process.
        report(error)
        return Interrupts.exitStatus ?? error.code.exitStatus
    }
}
#else
import BlobCommandLine

/// The entry point of a build without the trait `Command`.
@main enum Main {
    static func main() { endWithoutTrait("trait Command", "blob") }
}
#endif
