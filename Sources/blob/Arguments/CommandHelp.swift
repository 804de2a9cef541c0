#if Command
import ArgumentParser
import BlobStreamsStandard

extension ArgumentHelp {
    /// The help of an option that only `--help all` and the manual page describe.
    static func advanced(_ abstract: String, discussion: String = "", valueName: String? = nil) -> ArgumentHelp {
        ArgumentHelp(abstract, discussion: discussion, valueName: valueName, visibility: .hidden)
    }
}

extension BlobCommand {
    /// Returns the help that arguments request: the options that most people need, or with `--help all` every option.
    ///
    /// A discussion consists of paragraphs: the first is a summary; one that begins with `EXAMPLES:` is the end of
    /// every help; the others are shown only by `--help all`, and in the manual page.
    static func help(for arguments: [String]) -> String {
        let words = arguments.prefix { $0 != "--" }
        if words == ["help", LocatorHelp.topic] { return LocatorHelp.text }
        let names = words.drop { $0 == "help" }.prefix { !$0.hasPrefix("-") }
        var (path, type) = ("blob", BlobCommand.self as any ParsableCommand.Type)
        for name in names {
            guard let next = type.configuration.subcommands.first(where: { $0.configuration.commandName == name })
            else { break }
            (path, type) = ("\(path) \(name)", next)
        }
        let isWhole = zip(words, words.dropFirst()).contains { ["-h", "--help"].contains($0) && $1 == "all" }
        let whole = Self.helpMessage(for: type, includeHidden: true)
        let usage = "USAGE: "
        let text = isWhole ? whole : Self.helpMessage(for: type)
        guard let start = text.firstRange(of: usage) else { return text }
        let paragraphs = text[..<start.lowerBound].split(separator: "\n\n").map { $0.replacing("OVERVIEW: ", with: "") }
        let examples = paragraphs.filter { $0.hasPrefix("EXAMPLES:") }
        let overview = paragraphs.filter { !$0.hasPrefix("EXAMPLES:") }
        var sections = overview.prefix(isWhole ? .max : 2).map { String($0) }
        sections.append(String(text[start.lowerBound...].reversed().drop(while: \.isNewline).reversed()))
        sections += examples.map { String($0) }
        if !isWhole, whole != text || overview.count > 2 {
            sections.append("For all options and details: \(path) --help all")
        }
        return sections.joined(separator: "\n\n")
    }
}
#endif
