import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

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
