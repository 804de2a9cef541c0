import ArgumentParser
import BlobStreamsStandard
import Foundation

struct InfoCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "info", abstract: "Prints the facts known about a locator without reading it.")

    @Argument(help: "The locator to describe.")
    var locator: String

    @Flag(help: "Print one JSON object.")
    var json = false

    @OptionGroup var source: SourceOptions

    func run() throws {
        let context = try self.source.makeContext()
        let registry = self.source.registry
        let locator = try registry.locator(for: self.locator)
        let source = try registry.source(for: locator, context: context)
        let report = try Report(locator, source, context)
        guard self.json else {
            for (name, value) in report.rows { try printLine("\(name): \(value)") }
            return
        }
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        encoder.keyEncodingStrategy = .convertToSnakeCase
        try printLine(Self.escaped(String(decoding: encoder.encode(report), as: UTF8.self)))
    }

    /// Returns JSON in which strings have no control characters beyond ASCII either, which a terminal may obey.
    private static func escaped(_ json: String) -> String {
        guard !json.unicodeScalars.allSatisfy(\.isPrintable) else { return json }
        return json.unicodeScalars.reduce(into: "") { text, character in
            if character.isPrintable {
                text.unicodeScalars.append(character)
            } else {
                for unit in String(character).utf16 {
                    let digits = String(unit, radix: 16)
                    text += "\\u" + String(repeating: "0", count: 4 - digits.count) + digits
                }
            }
        }
    }
}

/// The output of `info`.
private struct Report: Encodable {
    let locator: String
    let chain: [String]
    let byteCount: Int64?
    let mediaType: String?
    let name: String?
    let validator: String?
    let validatorIsStrong: Bool?
    let randomAccess: Bool
    let concurrentReaders: Bool
    let repeatable: Bool
    let facts: [LayerFacts]?

    private enum CodingKeys: String, CodingKey {
        case locator, chain, byteCount, mediaType, name, validator, validatorIsStrong
        case randomAccess, concurrentReaders, repeatable, facts
    }

    init(_ locator: BlobLocator, _ source: any BlobInputStreamDataSource, _ context: BlobContext) throws {
        let info = try source.info(context)
        // As errors name it: with the containers and filters that were found by signature.
        let locator = source.locator ?? locator
        self.locator = locator.description
        self.chain = locator.scheme.split(separator: "+").map(String.init)
        self.byteCount = info.byteCount
        self.mediaType = info.mediaType
        self.name = info.name
        self.validator = info.validator?.text
        self.validatorIsStrong = info.validator?.isStrong
        self.randomAccess = info.isRandomAccess
        self.concurrentReaders = source.traits.contains(.concurrentReaders)
        self.repeatable = source.traits.contains(.repeatable)
        let facts = try LayerFacts.all(of: source, context)
        self.facts = facts.isEmpty ? nil : facts
    }

    private var abilities: [String] {
        [
            (self.randomAccess, "random access"), (self.concurrentReaders, "concurrent readers"),
            (self.repeatable, "repeatable"),
        ].filter(\.0).map(\.1)
    }

    /// The rows of the readable form, which also show what is unknown.
    var rows: [(String, String)] {
        let rows: [(name: String, value: String)] = [
            ("locator", self.locator), ("chain", self.chain.joined(separator: " of ")),
            ("bytes", self.byteCount.map(String.init) ?? "unknown"), ("media type", self.mediaType ?? "unknown"),
            ("name", self.name ?? "none"), ("validator", self.validator ?? "none"),
            ("can", self.abilities.isEmpty ? "be read once" : self.abilities.joined(separator: ", ")),
        ]
        return rows.map { ($0.name, printable($0.value)) } + (self.facts ?? []).flatMap(\.rows)
    }
}
