public import BlobPlatform

/// A parameter of a form, which may contain other parameters.
///
/// ```swift
/// try form.appendParts(["title": "Holidays", "tags": ["sea", "sun"], "place": ["lat": "54.1", "lon": "12.1"]])
/// ```
public indirect enum MultipartValue: Hashable, Sendable {
    /// Text in UTF-8, sent with every line break as CR LF.
    case text(String)
    /// Bytes, sent unchanged.
    case data(Data)
    /// A field without bytes.
    case null
    /// Values in order.
    case list([MultipartValue])
    /// Values without an order, sent sorted by their text.
    case set(Set<MultipartValue>)
    /// Values keyed by name, sent sorted by name.
    case dictionary([String: MultipartValue])

    /// Calls `body` with the name and the value of each field.
    ///
    /// Fields are named and ordered as in AFNetworking: `a[b]` for the value `b` of a dictionary `a`, `a[]` for each
    /// value of a list `a`, and `a` for each value of a set `a`.
    func forEachField<Failure: Error>(
        _ name: String, _ body: (String, MultipartValue) throws(Failure) -> Void
    ) throws(Failure) {
        switch self {
        case .text, .data, .null: try body(name, self)
        case .list(let values):
            for value in values { try value.forEachField("\(name)[]", body) }
        case .set(let values):
            for value in values.sorted(by: { $0.sortingText < $1.sortingText }) { try value.forEachField(name, body) }
        case .dictionary(let values):
            for (key, value) in values.sorted(by: { $0.key < $1.key }) {
                try value.forEachField("\(name)[\(key)]", body)
            }
        }
    }

    /// The text that orders the values of a set.
    private var sortingText: String {
        switch self {
        case .text(let text): text
        case .data(let data): String(decoding: data, as: UTF8.self)
        case .null: ""
        case .list, .set, .dictionary: "\(self)"
        }
    }
}

extension MultipartValue: ExpressibleByStringLiteral, ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral,
    ExpressibleByNilLiteral
{
    /// Creates a text.
    public init(stringLiteral text: String) { self = .text(text) }

    /// Creates a list.
    public init(arrayLiteral values: MultipartValue...) { self = .list(values) }

    /// Creates a field without bytes.
    public init(nilLiteral: ()) { self = .null }

    /// Creates a dictionary. If a name is repeated, its last value is used.
    public init(dictionaryLiteral values: (String, MultipartValue)...) {
        self = .dictionary(Dictionary(values) { _, last in last })
    }
}
