#if Command
import ArgumentParser
import BlobCommandLine
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

struct IndexShowCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "show", abstract: "Prints the path and the sections of the index of a locator.",
        discussion: """
            Prints the path, then one line for each section: layer, kind, bytes, and whether it is valid for the \
            current content or stale. An index of another tool has one line: gzip, the name of the tool, bytes, and \
            foreign. Without an index the error is notFound.
            """)

    @OptionGroup var options: IndexOptions

    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.options.makeContext()
        let locator = try self.options.parsedLocator()
        let file = try self.options.file(for: locator)
        let sections = file.sections()
        let contents = sections.isEmpty ? [] : try self.contents(of: locator, in: file, context)
        let other = sections.isEmpty ? try file.toolIndex() : nil
        guard !sections.isEmpty || other != nil else {
            throw BlobError(
                .notFound,
                file.exists
                    ? "The file \(printable(file.path)) is no index of this user and version, or a damaged one."
                    : "There is no index \(printable(file.path)): 'blob index build' makes one.",
                locator: locator.description)
        }
        let report = Report(
            path: printable(file.path),
            sections: sections.map { Report.Section($0, contents) } + (other.map { [Report.Section($0)] } ?? []))
        guard self.json else {
            try printLine(report.path)
            for section in report.sections { try printLine(section.line) }
            return
        }
        try printLine(jsonLine(report))
    }

    /// Returns the identities of the content that sections may be bound to: of the origin, and of each layer over it.
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

/// The output of `show`.
private struct Report: Encodable {
    struct Section: Encodable {
        let layer: String
        let kind: String
        let byteCount: Int64
        let isValid: Bool
        /// True for the index of another tool; nil otherwise.
        let isForeign: Bool?

        init(_ index: ToolIndex) {
            (self.layer, self.kind, self.byteCount) = ("gzip", index.format.rawValue, index.fileByteCount)
            (self.isValid, self.isForeign) = (false, true)
        }

        init(_ summary: IndexSection.Entry, _ contents: Set<IndexedContent>) {
            self.layer = printable(summary.key.layer)
            self.kind = printable(summary.key.kind.description)
            self.byteCount = summary.byteCount
            (self.isValid, self.isForeign) = (contents.contains(summary.content), nil)
        }

        var line: String {
            let state = self.isForeign == true ? "foreign" : self.isValid ? "valid" : "stale"
            return "\(self.layer) \(self.kind) \(self.byteCount) \(state)"
        }
    }

    let path: String
    let sections: [Section]
}

struct IndexListCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "ls", abstract: "Lists the indexes in the user's cache folder.",
        discussion: """
            Prints one line for each: the time of the last use, bytes, and the locator, the most recently used first; \
            - in the place of the locator for a file that is damaged or of another version.
            """)

    @Flag(help: "Print one JSON object for each.")
    var json = false

    func run() throws {
        Verbosity.isJSON = self.json
        for index in try CachedIndex.all(in: .automatic) {
            let row = IndexRow(index)
            try printLine(
                self.json ? jsonLine(row) : "\(row.lastUse) \(row.byteCount) \(row.locator ?? "-")")
        }
    }
}

/// One index of the output of `ls`.
private struct IndexRow: Encodable {
    let path: String
    let locator: String?
    let byteCount: Int64
    let lastUse: String

    init(_ index: CachedIndex) {
        self.path = printable(index.path)
        self.locator = index.origin.map(printable)
        self.byteCount = index.byteCount
        self.lastUse = factText(Date(timeIntervalSince1970: TimeInterval(index.lastUse)))
    }
}
#endif
