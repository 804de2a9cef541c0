/// What a data source can do beyond being read once from its start.
public struct BlobCapabilities: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates capabilities from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Opening at an offset costs about as much as opening at the start. Without it the bytes before are read and
    /// dropped.
    public static let randomAccess = Self(rawValue: 1 << 0)

    /// Readers may be open and read on several threads at once. Without it, one after the other.
    public static let concurrentReaders = Self(rawValue: 1 << 1)

    /// The source can be opened again, and gives the same bytes as long as its validator is the same. Without it, the
    /// second opening throws ``BlobError/Code/unsupported``.
    public static let repeatable = Self(rawValue: 1 << 2)

    /// Only one reader may be open: the next is opened once the last is closed.
    public static let oneReaderAtATime = Self(rawValue: 1 << 4)

    /// Everything that fits a source whose bytes lie there and wait.
    public static let all: Self = [.randomAccess, .concurrentReaders, .repeatable]

    /// Whether a reader may be used while another one is.
    var areReadersIndependent: Bool { self.contains(.concurrentReaders) && !self.contains(.oneReaderAtATime) }
}

extension BlobCapabilities: CustomStringConvertible {
    /// The names, separated by commas.
    public var description: String {
        let names: [(Self, String)] = [
            (.randomAccess, "random access"), (.concurrentReaders, "concurrent readers"), (.repeatable, "repeatable"),
            (.oneReaderAtATime, "one reader at a time"),
        ]
        return names.filter { self.contains($0.0) }.map(\.1).joined(separator: ", ")
    }
}
