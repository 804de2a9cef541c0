#if Command
import BlobPlatform

/// A JSON object whose fields keep their names; fields without a value are omitted.
struct JSONObject: Encodable, ExpressibleByDictionaryLiteral {
    typealias Key = String
    typealias Value = (any Encodable)?

    private struct Name: CodingKey {
        let stringValue: String
        var intValue: Int? { nil }

        init(stringValue: String) { self.stringValue = stringValue }

        init?(intValue: Int) { nil }
    }

    private let fields: [(String, (any Encodable)?)]

    init(_ fields: [(String, (any Encodable)?)]) { self.fields = fields }

    init(dictionaryLiteral elements: (String, (any Encodable)?)...) { self.init(elements) }

    func encode(to encoder: any Encoder) throws {
        var object = encoder.container(keyedBy: Name.self)
        for case (let name, let value?) in self.fields { try object.encode(value, forKey: Name(stringValue: name)) }
    }
}

/// Returns a value as one line of JSON.
func jsonLine(_ value: some Encodable) throws -> String {
    printableJSON(String(decoding: try lineEncoder.encode(value), as: UTF8.self))
}

private let lineEncoder = {
    let encoder = JSONEncoder()
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
    encoder.dateEncodingStrategy = .iso8601
    return encoder
}()
#endif
