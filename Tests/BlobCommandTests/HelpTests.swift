#if Command
import BlobTestSupport
import Foundation
import Testing

/// The help of each command.
@Suite struct HelpTests {
    /// A command as the argument parser describes it.
    struct Command: Decodable, CustomStringConvertible {
        struct Argument: Decodable {
            struct Name: Decodable { let kind, name: String }

            let kind: String
            let names: [Name]?
        }

        struct Document: Decodable { let command: Command }

        let commandName: String
        let shouldDisplay: Bool
        var subcommands: [Command]?
        let arguments: [Argument]?
        var path: [String]?

        var description: String { (self.path ?? []).joined(separator: " ") }

        /// This command and all below it that help mentions.
        func all(below path: [String]) -> [Command] {
            var own = self
            own.path = path
            return [own]
                + (self.subcommands ?? []).filter { $0.shouldDisplay && $0.commandName != "help" }
                .flatMap { $0.all(below: path + [$0.commandName]) }
        }
    }

    static let commands: [Command] = {
        let dump = (try? Launch("--experimental-dump-help").run().text) ?? ""
        return (try? JSONDecoder().decode(Command.Document.self, from: Data(dump.utf8)))?.command.all(below: []) ?? []
    }()

    @Test func thereAreCommands() { #expect(Self.commands.count > 40) }

    @Test(arguments: commands) func theHelpFitsAScreenAndTheWholeHelpHasEveryOption(command: Command) throws {
        let help = try Launch((command.path ?? []) + ["--help"]).run()
        let lines = help.text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
        #expect(help.ending == .status(0) && lines.count <= 40, "\(help.text)")
        #expect(lines.allSatisfy { $0.count <= 80 }, "\(help.text)")
        #expect(help.text.contains("USAGE: blob"))
        let whole = try Launch((command.path ?? []) + ["--help", "all"]).run().text
        for name in (command.arguments ?? []).flatMap({ $0.names ?? [] }) {
            let text = name.kind == "long" ? "--\(name.name)" : "-\(name.name)"
            #expect(whole.contains(" \(text)"), "\(command): \(text)")
        }
        guard command.subcommands?.isEmpty ?? true else { return }
        let examples = lines.drop { $0 != "EXAMPLES:" }.dropFirst().prefix { !$0.isEmpty }
        #expect(examples.count == 2, "\(help.text)")
        for example in examples {
            #expect(example.contains("blob \(command)"), "\(example)")
            let own = example.split(separator: "|").first { $0.contains("blob \(command)") } ?? ""
            for word in own.split(separator: " ") where word.hasPrefix("--") {
                #expect(whole.contains("\(word)"), "\(example)")
            }
        }
    }

    @Test func rareOptionsAreInGroupsOfTheWholeHelp() throws {
        let (short, whole) = (try Launch("cat", "--help").run().text, try Launch("cat", "--help", "all").run().text)
        for title in ["READING", "WEB SERVERS", "S3", "ARCHIVES AND INDEXES", "LIBRARY"] {
            #expect(whole.contains("\n\(title):\n"))
        }
        #expect(!short.contains("--no-sign-request") && whole.contains("--no-sign-request"))
        #expect(short.contains("For all options and details: blob cat --help all"))
        // Options of sources do not matter to a command that reads none.
        #expect(try !Launch("library", "album", "create", "--help", "all").run().text.contains("--header"))
    }

    @Test func locatorsAreATopicOfHelp() throws {
        #expect(try Launch("help", "locators").run().text.contains("backup.tgz#etc/hosts"))
        expect(try Launch("locators").run(), failsWith: "invalidArgument", 64, saying: "'blob help locators'")
    }

    @Test func schemesAreAlignedOrJSON() throws {
        let rows = try Launch("schemes").run().text.split(separator: "\n")
        let columns = rows.map { row in row.lastIndex(of: " ").map { row.distance(from: row.startIndex, to: $0) } }
        #expect(rows.count > 20 && Set(columns).count == 1)
        struct Scheme: Decodable { let scheme, kind, module: String }
        let schemes = try Launch("schemes", "--json").run().text.split(separator: "\n")
            .map { try JSONDecoder().decode(Scheme.self, from: Data($0.utf8)) }
        #expect(schemes.count == rows.count && schemes.contains { $0.scheme == "gzip" && $0.kind == "filter" })
    }
}
#endif
