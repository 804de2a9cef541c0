import ArgumentParser
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Prints the facts about locators, of which only the beginnings are read.",
        discussion: "The format is that of the content; 'blob cat' takes no filter off without -z, or a wrapper.")

    @Argument(help: "The locators to describe.")
    var locators: [String]

    @Flag(help: "Print one JSON object a locator.")
    var json = false

    @OptionGroup var source: SourceOptions

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.source.makeContext()
        let sources = self.source.makeSources()
        var failures = SourceFailures(isFailFast: self.locators.count == 1)
        for (number, argument) in try sources.registry.expanding(self.locators, context).enumerated() {
            do {
                let report = try Report(argument, sources, context)
                guard self.json else {
                    if number > 0 { try printLine("") }
                    for (name, value) in report.rows { try printLine("\(name): \(value)") }
                    continue
                }
                let encoder = JSONEncoder()
                encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
                encoder.keyEncodingStrategy = .convertToSnakeCase
                try printLine(printableJSON(String(decoding: encoder.encode(report), as: UTF8.self)))
            } catch {
                try failures.note(error)
            }
        }
        try failures.end()
    }
}

/// The output of `info`.
private struct Report: Encodable {
    let locator: String
    let chain: [String]
    /// The formats that the content shows, outermost first, such as `gzip` and `tar`.
    let content: [String]?
    /// The number of members, if it is known without reading all of the archive.
    let memberCount: Int64?
    let hasIndex: Bool?
    let byteCount: Int64?
    let mediaType: String?
    let name: String?
    let validator: String?
    let validatorIsStrong: Bool?
    let randomAccess: Bool
    /// How the system confines the helper that reads an archive among the layers; nil when none needs one.
    let helper: String?
    let concurrentReaders: Bool
    let repeatable: Bool
    let facts: [LayerFacts]?

    private enum CodingKeys: String, CodingKey {
        case locator, chain, content, memberCount, hasIndex, byteCount, mediaType, name, validator, validatorIsStrong
        case randomAccess, helper, concurrentReaders, repeatable, facts
    }

    init(_ argument: String, _ sources: ArgumentSources, _ context: BlobContext) throws {
        let parsed = try sources.registry.locator(for: argument)
        var source = try sources.source(argument, context)
        if let named = source as? NamedMemberSource { source = try named.found(context) }
        let info = try source.info(context)
        // Bytes of a source that is read once stay unread.
        let format =
            source.traits.contains(.repeatable) ? try? ContentFormat(of: source, sources.registry, context) : nil
        self.content = format.flatMap { $0.text == nil ? nil : $0.filters + ($0.container.map { [$0] } ?? []) }
        self.memberCount = try Self.memberCount(format, context)
        self.hasIndex = self.content == nil ? nil : IndexFile(context.index, for: parsed)?.exists
        // As errors name it: with the containers and filters that were found by signature.
        let locator = source.locator ?? parsed
        self.locator = locator.description
        self.chain = locator.scheme.split(separator: "+").map(String.init)
        self.byteCount = info.byteCount
        self.mediaType = info.mediaType
        self.name = info.name
        self.validator = info.validator?.text
        self.validatorIsStrong = info.validator?.isStrong
        self.randomAccess = info.isRandomAccess
        let isForeign = (self.chain + (self.content ?? [])).contains { ArchiveFormat(rawValue: $0)?.isForeign ?? false }
        self.helper = isForeign ? try? ArchiveFormat.helperConfinement(context) : nil
        self.concurrentReaders = source.traits.contains(.concurrentReaders)
        self.repeatable = source.traits.contains(.repeatable)
        let facts = try LayerFacts.all(of: source, context)
        self.facts = facts.isEmpty ? nil : facts
    }

    /// Returns the number of members; also nil where nothing reads the archive, of which other facts are known.
    private static func memberCount(_ format: ContentFormat?, _ context: BlobContext) throws -> Int64? {
        do {
            return try format?.knownMemberCount(context)
        } catch {
            let error = BlobError(wrapping: error)
            guard error.code == .unsupported else { throw error }
            return nil
        }
    }

    private var abilities: [String] {
        [
            (self.randomAccess, "random access"), (self.concurrentReaders, "concurrent readers"),
            (self.repeatable, "repeatable"),
        ].filter(\.0).map(\.1)
    }

    /// The rows of the readable form, which also show what is unknown.
    var rows: [(String, String)] {
        let content = [
            ("content", self.content.map { $0.reversed().joined(separator: " in ") }),
            ("members", self.memberCount.map(String.init)), ("index", self.hasIndex.map { $0 ? "yes" : "none" }),
            ("helper", self.helper),
        ].compactMap { row in row.1.map { (name: row.0, value: $0) } }
        let rows: [(name: String, value: String)] =
            [
                ("locator", self.locator), ("chain", self.chain.joined(separator: " of ")),
            ] + content + [
                ("bytes", self.byteCount.map(String.init) ?? "unknown"), ("media type", self.mediaType ?? "unknown"),
                ("name", self.name ?? "none"), ("validator", self.validator ?? "none"),
                ("can", self.abilities.isEmpty ? "be read once" : self.abilities.joined(separator: ", ")),
            ]
        return rows.map { ($0.name, printable($0.value)) } + (self.facts ?? []).flatMap(\.rows)
    }
}
