#if Command
import ArgumentParser
import BlobCommandLine
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

struct IndexShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Prints the path and the sections of an index.",
        discussion: """
            Prints the path, then one line per section: layer, kind, byte count, and 'valid' or 'stale', depending on \
            the current content. For an index of another tool, prints one line: 'gzip', the name of the tool, the byte \
            count, and 'foreign'. If there is no index, the error is 'notFound'.

            EXAMPLES:
              blob index show log.gz
              blob index show --json log.gz
            """)

    @OptionGroup var options: IndexOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        Verbosity.isJSON = self.json
        let (locator, file, context) = try self.options.resolved()
        let sections = file.sections()
        let contents = sections.isEmpty ? [] : try self.contents(of: locator, in: file, context)
        let other = sections.isEmpty ? try file.toolIndex() : nil
        guard !sections.isEmpty || other != nil else {
            throw BlobError(
                .notFound,
                file.exists
                    ? "The file \(printable(file.path)) is damaged, or is not an index of this user and version."
                    : "No index found at \(printable(file.path)): create one with 'blob index build'.",
                locator: locator.description)
        }
        let path = printable(file.path)
        let rows = sections.map { ShownSection($0, contents) } + (other.map { [ShownSection($0)] } ?? [])
        guard !self.json else {
            return try printLine(jsonLine(["path": path, "sections": rows.map(\.fields)] as JSONObject))
        }
        try printLine(path)
        for row in rows { try printLine("\(row.layer) \(row.kind) \(row.byteCount) \(row.state)") }
    }

    /// Returns the identities of all content that sections may belong to: the origin and each layer over it.
    private func contents(
        of locator: BlobLocator, in file: IndexFile, _ context: BlobContext
    ) throws -> Set<IndexedContent> {
        let registry = self.options.source.makeRegistry()
        var contents: Set<IndexedContent> = []
        let origin = try registry.source(for: locator.origin, context: context)
        if let content = try file.content(of: origin, context) { contents.insert(content) }
        guard let source = try? registry.source(for: locator, context: context) else { return contents }
        for layer in layerChain(of: source) {
            if let content = try? file.content(of: layer, context) { contents.insert(content) }
        }
        return contents
    }
}

/// A section in the form that `show` prints.
private struct ShownSection {
    enum State {
        case valid, stale
        /// The index was created by another tool.
        case foreign
    }

    let (layer, kind): (String, String)
    let byteCount: Int64
    let state: State

    init(_ index: ToolIndex) {
        (self.layer, self.kind) = ("gzip", index.format.rawValue)
        (self.byteCount, self.state) = (index.fileByteCount, .foreign)
    }

    init(_ summary: IndexSection.Entry, _ contents: Set<IndexedContent>) {
        (self.layer, self.kind) = (printable(summary.key.layer), printable(summary.key.kind.description))
        (self.byteCount, self.state) = (summary.byteCount, contents.contains(summary.content) ? .valid : .stale)
    }

    var fields: JSONObject {
        [
            "layer": self.layer, "kind": self.kind, "byte_count": self.byteCount, "is_valid": self.state == .valid,
            "is_foreign": self.state == .foreign ? true : nil,
        ]
    }
}

struct IndexListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the indexes in the user's cache folder.",
        discussion: """
            Prints one line per index, the most recently used first: the time of the last use, the byte count, and the \
            locator, or '-' if the file is damaged or of another version.

            EXAMPLES:
              blob index ls
              blob index ls --json | jq .bytes
            """)

    @Flag(help: "Print one JSON object per index.")
    var json = false

    func run() throws {
        Verbosity.isJSON = self.json
        for index in try CachedIndex.all(in: .automatic) {
            let locator = index.origin.map(printable)
            let lastUse = factText(Date(timeIntervalSince1970: TimeInterval(index.lastUse)))
            let row: JSONObject = [
                "path": printable(index.path), "locator": locator, "byte_count": index.byteCount, "last_use": lastUse,
            ]
            try printLine(self.json ? jsonLine(row) : "\(lastUse) \(index.byteCount) \(locator ?? "-")")
        }
    }
}
#endif
