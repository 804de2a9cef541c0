#if Command || Receiver
package import ArgumentParser
import Foundation

/// The help of a command, arranged from the argument parser's help.
///
/// The discussion of a command consists of paragraphs. The first paragraph is a summary. A paragraph that begins with
/// `EXAMPLES:` is moved to the end of the help. All other paragraphs, and the discussions of options, are shown only by
/// `--help all` and in the manual page.
package struct CommandHelp {
    /// The indentation of an option's discussion. The other lines of an option have a different indentation.
    private static let discussionIndent = String(repeating: " ", count: 8)

    private let root: any ParsableCommand.Type
    private var path: String
    private var command: any ParsableCommand.Type
    private let words: ArraySlice<String>

    /// - Parameters:
    ///   - root: The command of the program.
    ///   - path: The name of the program.
    ///   - arguments: The arguments of the process, which request help.
    package init(of root: any ParsableCommand.Type, path: String, for arguments: [String]) {
        (self.root, self.path, self.command) = (root, path, root)
        self.words = arguments.prefix { $0 != "--" }
        for name in self.words.drop(while: { $0 == "help" }).prefix(while: { !$0.hasPrefix("-") }) {
            guard
                let next = self.command.configuration.subcommands
                    .first(where: { $0.configuration.commandName == name })
            else { break }
            (self.path, self.command) = ("\(self.path) \(name)", next)
        }
    }

    /// The text of the help, which describes the most common options or, with `--help all`, all of them.
    package var text: String {
        let isWhole = zip(self.words, self.words.dropFirst()).contains { ["-h", "--help"].contains($0) && $1 == "all" }
        let whole = self.sections(self.root.helpMessage(for: self.command, includeHidden: true))
        guard !isWhole else { return whole.joined(separator: "\n\n") }
        var short = self.sections(self.root.helpMessage(for: self.command))
        if let usage = short.firstIndex(where: { $0.hasPrefix("USAGE: ") }) { short.removeSubrange(2..<max(2, usage)) }
        short = short.map { section in
            section.split(separator: "\n").filter { line in
                !line.hasPrefix(Self.discussionIndent) || line.dropFirst(Self.discussionIndent.count).hasPrefix(" ")
            }.joined(separator: "\n")
        }
        if short != whole { short.append("For all options and details: \(self.path) --help all") }
        return short.joined(separator: "\n\n")
    }

    /// Returns the sections of the parser's help: the overview, the usage, the options of the command, the groups of
    /// options, and the examples.
    private func sections(_ help: String) -> [String] {
        var sections = help.split(separator: "\n\n").map { $0.trimmingCharacters(in: .newlines) }
        sections[0] = sections[0].replacing("OVERVIEW: ", with: "")
        if let usage = sections.firstIndex(where: { $0.hasPrefix("USAGE: ") }) {
            let operands = sections[usage].replacing(/\[-[^\[\]]*\](?: \.\.\.)?|\[<options>\]/, with: "")
                .split(whereSeparator: \.isWhitespace).dropFirst(1 + self.path.split(separator: " ").count)
            sections[usage] = (["USAGE: \(self.path)", "[<options>]"] + operands).joined(separator: " ")
            let options = sections.firstIndex { $0.hasPrefix("OPTIONS:") }
            let start = sections[usage + 1].hasPrefix("ARGUMENTS:") ? usage + 2 : usage + 1
            if let options { sections.insert(sections.remove(at: options), at: start) }
        }
        if let examples = sections.firstIndex(where: { $0.hasPrefix("EXAMPLES:") }) {
            sections.append(sections.remove(at: examples))
        }
        return sections
    }
}
#endif
