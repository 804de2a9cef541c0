import BlobPlatform

/// The commands with their options, as the argument parser describes them.
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

    /// Creates the tree from what the parser says of the topmost command; nil when that has another form.
    init?(dump: String) {
        guard let document = try? JSONDecoder().decode(Document.self, from: Data(dump.utf8)) else { return nil }
        self = document.command
    }

    /// Returns the option with this text; nil when the command has none.
    func option(_ text: String) -> Argument? {
        self.arguments?.first { $0.names?.contains { $0.text == text } == true }
    }

    /// The texts of all options.
    var optionTexts: [String] {
        (self.arguments ?? []).filter(\.shouldDisplay).flatMap { $0.names ?? [] }.map(\.text)
    }
}
