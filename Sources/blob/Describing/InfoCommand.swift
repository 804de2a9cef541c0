#if Command
import ArgumentParser
import BlobCommandLine
import BlobIndex
import BlobPlatform
import BlobStreamsStandard

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Prints the length, format and other facts.",
        discussion: """
            Reads only the beginning of each source. The format is detected from the content; 'blob cat' decodes it \
            only with -z, or with a scheme such as gzip+.

            EXAMPLES:
              blob info photo.heic
              blob info --json https://example.com/log.gz
            """)

    @Argument(help: "The locators to describe.")
    var locators: [String]

    @Flag(help: "Print one JSON object per locator.")
    var json = false

    @OptionGroup(title: "Web servers") var redirects: RedirectOptions

    @OptionGroup var source: SourceOptions

    func run() throws {
        Verbosity.isJSON = self.json
        let context = try self.source.makeContext()
        var sources = self.source.makeSources()
        let arguments = try sources.registry.expanding(self.locators, context)
        sources.prefetched = PrefetchedSources(arguments, sources.registry)
        let containers = SharedContainers(sources, isOnePass: false, context)
        let failures = SourceFailures(isFailFast: self.locators.count == 1)
        var groups = ArchiveGroups(arguments, sources.registry)
        for (number, argument) in arguments.enumerated() {
            do {
                if let group = groups.remove(of: number) { try containers.prepare(group, upTo: 64 * 1024) }
                let report = try Report(argument, containers, context)
                guard self.json else {
                    if number > 0 { try printLine("") }
                    for (name, value) in report.rows { try printLine("\(name): \(value)") }
                    continue
                }
                try printLine(jsonLine(report.fields))
            } catch {
                try failures.record(error)
            }
        }
        try failures.end()
    }
}

/// The output of the `info` command.
private struct Report {
    let fields: JSONObject
    /// The rows of the readable form, including unknown facts.
    let rows: [(name: String, value: String)]

    init(_ argument: String, _ containers: SharedContainers, _ context: BlobContext) throws {
        let sources = containers.sources
        let parsed = try sources.registry.locator(for: argument)
        var source = try containers.source(argument)
        if let named = source as? NamedMemberSource { source = try named.foundMember(context).source }
        let (info, traits) = (try source.info(context), source.traits)
        // A source that can be read only once is not read.
        let registry = try sources.registry.signatureFilters(andContainers: true)
        let content = traits.contains(.repeatable) ? try? SourceContent(of: source, registry, context) : nil
        // Outermost first, such as `gzip` and `tar`.
        let formats = content?.schemes ?? []
        // Known only if counting does not require reading the whole archive.
        let memberCount = try content?.container.flatMap { try Self.memberCount($0.members, context) }
        let hasIndex = formats.isEmpty ? nil : IndexFile(context.index, for: parsed)?.exists
        // The locator as it appears in errors, with the containers and filters found by signature.
        let locator = source.locator ?? parsed
        let chain = locator.scheme.split(separator: "+").map(String.init)
        // The confinement of the helper process that reads one of the archives; nil if no helper is needed.
        let needsHelper = (chain + formats).contains { ArchiveFormat(rawValue: $0)?.needsHelper ?? false }
        let helper = needsHelper ? try? ArchiveFormat.helperConfinement(context) : nil
        let facts = try LayerFacts.all(of: source, context)
        let abilities = [
            (info.isRandomAccess, "random access"), (traits.contains(.concurrentReaders), "concurrent readers"),
            (traits.contains(.repeatable), "repeatable"),
        ].filter(\.0).map(\.1).joined(separator: ", ")
        self.fields = [
            "locator": locator.description, "chain": chain, "content": formats.isEmpty ? nil : formats,
            "member_count": memberCount, "has_index": hasIndex, "byte_count": info.byteCount,
            "media_type": info.mediaType, "name": info.name, "validator": info.validator?.text,
            "validator_is_strong": info.validator?.isStrong, "digests": Self.digests(info),
            "random_access": info.isRandomAccess, "helper": helper,
            "concurrent_readers": traits.contains(.concurrentReaders), "repeatable": traits.contains(.repeatable),
            "facts": facts.isEmpty ? nil : facts.map(\.fields),
        ]
        let rows: [(name: String, value: String?)] = [
            ("locator", locator.description), ("chain", chain.joined(separator: " of ")), ("content", content?.text),
            ("members", memberCount.map(String.init)), ("index", hasIndex.map { $0 ? "yes" : "none" }),
            ("helper", helper), ("bytes", info.byteCount.map(String.init) ?? "unknown"),
            ("media type", info.mediaType ?? "unknown"), ("name", info.name ?? "none"),
            ("validator", info.validator?.text ?? "none"),
            ("digests", info.digests.isEmpty ? nil : info.digests.map(Self.text).joined(separator: ", ")),
            ("can", abilities.isEmpty ? "be read once" : abilities),
        ]
        self.rows = rows.compactMap { row in row.value.map { (row.name, printable($0)) } } + facts.flatMap(\.rows)
    }

    /// Returns the digests of the whole source that the server states; nil if it states none.
    private static func digests(_ info: BlobInfo) -> [JSONObject]? {
        guard !info.digests.isEmpty else { return nil }
        return info.digests.map { digest in
            ["algorithm": digest.algorithm, "value": digest.value.hexadecimal, "origin": digest.origin]
        }
    }

    private static func text(_ digest: BlobStatedDigest) -> String {
        "\(digest.algorithm) \(digest.value.hexadecimal) (\(digest.origin))"
    }

    /// Returns the number of members.
    ///
    /// Returns nil if counting requires reading the whole archive, or if the archive cannot be read; other facts remain
    /// available.
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
}

/// The facts about one layer of a source beyond its info.
struct LayerFacts {
    /// The scheme of the layer, such as `gzip`, or the name of its type.
    private let layer: String
    private let facts: [(name: String, value: any Encodable & Sendable)]
    private let isOutermost: Bool

    /// Returns the facts of all layers that have any, outermost first.
    static func all(of source: any BlobInputStreamDataSource, _ context: BlobContext) throws -> [LayerFacts] {
        var all: [LayerFacts] = []
        for (depth, layer) in layerChain(of: source).enumerated() {
            guard let facts = try (layer as? any BlobDescribing)?.facts(context), !facts.isEmpty else { continue }
            let scheme = layer.locator?.scheme.split(separator: "+").first.map(String.init)
            all.append(LayerFacts(layer: scheme ?? layer.layerName, facts: facts, isOutermost: depth == 0))
        }
        return all
    }

    /// The rows of the readable form: `members: 3`, or `members of gzip: 3` for a layer below the outermost.
    var rows: [(name: String, value: String)] {
        self.facts.map { fact in
            (self.isOutermost ? fact.name : "\(fact.name) of \(self.layer)", printable(factText(fact.value)))
        }
    }

    /// The object `{"layer": "gzip", "members": 3}`, with `_` in place of spaces and hyphens in names.
    var fields: JSONObject {
        let facts = self.facts.map { fact -> (String, (any Encodable)?) in
            let name = String(fact.name.map { $0 == " " || $0 == "-" ? "_" : $0 })
            return (name, fact.value is Date ? factText(fact.value) : fact.value)
        }
        return JSONObject([("layer", self.layer)] + facts)
    }
}
#endif
