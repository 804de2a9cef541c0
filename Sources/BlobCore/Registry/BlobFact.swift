import BlobPlatform

/// Something that a format knows of a blob, beyond what ``BlobInfo`` has a place for: how many members a gzip has, the
/// mode of a file in an archive.
public struct BlobFact: Hashable, Sendable {
    /// What a fact says.
    public enum Value: Hashable, Sendable {
        case integer(Int64)
        case text(String)
        case date(Date)
        case bool(Bool)
    }

    /// What it is about: a few words in lower case, the same for every blob of the format, with its unit if it has one:
    /// "members", "restart point spacing in bytes".
    public let name: String

    /// What it says.
    public let value: Value

    /// Creates a fact.
    public init(_ name: String, _ value: Value) {
        self.name = name
        self.value = value
    }
}

extension BlobFact.Value: CustomStringConvertible {
    /// For people: a number without grouping, a date as in ISO 8601 (UTC), "yes" or "no". Text is as it is, and may have
    /// control characters.
    public var description: String {
        switch self {
        case .integer(let number): "\(number)"
        case .text(let text): text
        case .date(let date): max(Self.firstDate, min(date, Self.lastDate)).ISO8601Format()
        case .bool(let isTrue): isTrue ? "yes" : "no"
        }
    }

    // Formats of archives hold any number; what is shown begins with the calendar, 1582-10-15, and ends with the year 9999.
    private static let firstDate = Date(timeIntervalSince1970: -12_219_292_800)
    private static let lastDate = Date(timeIntervalSince1970: 253_402_300_799)
}

extension BlobFact.Value: Encodable {
    /// Encodes a single value; a date as text, as ``description`` has it.
    public func encode(to encoder: any Encoder) throws {
        var container = encoder.singleValueContainer()
        switch self {
        case .integer(let number): try container.encode(number)
        case .text(let text): try container.encode(text)
        case .date: try container.encode(self.description)
        case .bool(let isTrue): try container.encode(isTrue)
        }
    }
}
