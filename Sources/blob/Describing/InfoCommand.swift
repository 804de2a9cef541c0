#if Command
import ArgumentParser
import BlobCommandLine
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
        let failures = SourceFailures(isFailFast: self.locators.count == 1)
        for (number, argument) in try sources.registry.expanding(self.locators, context).enumerated() {
            do {
                let report = try Report(argument, sources, context)
                guard self.json else {
                    if number > 0 { try printLine("") }
                    for (name, value) in report.rows { try printLine("\(name): \(value)") }
                    continue
                }
                try printLine(jsonLine(report))
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

    init(_ argument: String, _ sources: ArgumentSources, _ context: BlobContext) throws {
        let parsed = try sources.registry.locator(for: argument)
        var source = try sources.source(argument, context)
        if let named = source as? NamedMemberSource { source = try named.found(context).source }
        let info = try source.info(context)
        // Bytes of a source that is read once stay unread.
        let registry = try sources.registry.signatureFilters(andContainers: true)
        let content = source.traits.contains(.repeatable) ? try? SourceContent(of: source, registry, context) : nil
        self.content = content.flatMap { $0.schemes.isEmpty ? nil : $0.schemes }
        self.memberCount = try content?.container.flatMap { try Self.memberCount($0.members, context) }
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

    /// Returns the number of members; nil when only reading all of the archive tells it, and where nothing reads the
    /// archive, of which other facts are known.
    private static func memberCount(_ members: any BlobContainer, _ context: BlobContext) throws -> Int64? {
        do {
            guard let members = members as? ArchiveContainer, try !members.isSequential(context) else { return nil }
            var count: Int64 = 0
            try members.forEachMember(context) { _ in
                count += 1
                return true
            }
            return count
        } catch {
            guard BlobError(wrapping: error).code == .unsupported else { throw error }
            return nil
        }
    }

    private var abilities: [String] {
        [
            (self.randomAccess, "random access"), (self.concurrentReaders, "concurrent readers"),
            (self.repeatable, "repeatable"),
        ].filter(\.0).map(\.1)
    }

    /// The rows of the readable form, which also show unknown facts.
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

/// The facts of one layer of a source beyond its info.
struct LayerFacts: Encodable {
    /// The scheme of the layer, such as `gzip`, or the name of its type.
    private let layer: String
    private let facts: [(name: String, value: any Encodable & Sendable)]
    private let isOutermost: Bool

    private struct Key: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    /// Returns the facts of all layers that have some, outermost first.
    static func all(of source: any BlobInputStreamDataSource, _ context: BlobContext) throws -> [LayerFacts] {
        var all: [LayerFacts] = []
        for (depth, layer) in layerChain(of: source).enumerated() {
            guard let facts = try (layer as? any BlobDescribing)?.facts(context), !facts.isEmpty else { continue }
            let scheme = layer.locator?.scheme.split(separator: "+").first.map(String.init)
            all.append(LayerFacts(layer: scheme ?? layer.layerName, facts: facts, isOutermost: depth == 0))
        }
        return all
    }

    /// The rows of the readable form: `members: 3`, or `members of gzip: 3` for a layer beneath the outermost.
    var rows: [(String, String)] {
        self.facts.map { fact in
            (self.isOutermost ? fact.name : "\(fact.name) of \(self.layer)", printable(factText(fact.value)))
        }
    }

    /// Encodes one object: `{"layer": "gzip", "members": 3}`, with `_` for spaces and hyphens in names.
    func encode(to encoder: any Encoder) throws {
        var container = encoder.container(keyedBy: Key.self)
        try container.encode(self.layer, forKey: Key(stringValue: "layer"))
        for fact in self.facts {
            let name = String(fact.name.map { $0 == " " || $0 == "-" ? "_" : $0 })
            if fact.value is Date {
                try container.encode(factText(fact.value), forKey: Key(stringValue: name))
            } else {
                try container.encode(fact.value, forKey: Key(stringValue: name))
            }
        }
    }
}
#endif
