import Foundation

/// A source that knows more of its content than ``BlobInfo`` has room for: what is of its format alone.
public protocol BlobDescribing {
    /// What there is to say, in the order in which people want to read it; without reading the content.
    ///
    /// - Throws: What looking at the beginning of the content brings.
    func facts(_ context: BlobContext) throws -> [BlobFact]
}

/// One thing to know of a blob: `members: 12`.
public struct BlobFact: Hashable, Sendable {
    /// What a fact says.
    public enum Value: Hashable, Sendable {
        case integer(Int64)
        case text(String)
        case date(Date)
        case bool(Bool)
    }

    /// Lower case words: `original name`.
    public var name: String
    public var value: Value

    /// Creates a fact.
    public init(_ name: String, _ value: Value) { (self.name, self.value) = (name, value) }
}
