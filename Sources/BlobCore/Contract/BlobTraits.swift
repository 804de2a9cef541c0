/// The constant traits of a data source, known without opening it and unchanged for its whole life.
public struct BlobTraits: OptionSet, Hashable, Sendable {
    /// The bits.
    public let rawValue: Int

    /// Creates traits from their bits.
    public init(rawValue: Int) { self.rawValue = rawValue }

    /// Neither opening nor reading ever blocks: memory, event-driven origins, and compositions of these.
    ///
    /// A source that cannot know this before it opens leaves the trait out; its readers can still declare it with
    /// ``BlobByteStream/neverBlocks``.
    public static let neverBlocks = Self(rawValue: 1 << 0)

    /// The source can be opened again, and delivers the same bytes as long as its validator is the same. Without this
    /// trait, the second opening throws ``BlobError/Code/unsupported``.
    public static let repeatable = Self(rawValue: 1 << 1)

    /// Readers may be open and read on several threads at once. Without this trait, calls of two readers never overlap.
    public static let concurrentReaders = Self(rawValue: 1 << 2)
}
