/// A layer that reads its base on another thread, ahead of the consumer: what makes a source that blocks event-driven.
///
/// A reader keeps two windows or more, which hold what has been read and not yet been taken: of 64 KiB at first, and of up
/// to 1 MiB each when the consumer waits for them. The memory exists only while bytes wait in it, or are being read. A
/// base whose readers never block is read in place. Over a base that is not `concurrentReaders` nothing changes: a reader
/// is used by one thread at a time.
public struct ReadAheadSource: BlobLayer, NamedLayer {
    /// The sizes of a window, in bytes.
    public static let windowByteCounts = (64 * 1024)...(1024 * 1024)

    /// The source that is read ahead.
    public let underlying: any BlobInputStreamDataSource
    private let windowByteCounts: ClosedRange<Int>

    /// Creates a layer.
    ///
    /// - Parameters:
    ///   - base: The source to read ahead.
    ///   - windowByteCounts: The size of the first window and of the largest, in bytes, from 1.
    public init(
        _ base: any BlobInputStreamDataSource, windowByteCounts: ClosedRange<Int> = Self.windowByteCounts
    ) {
        precondition(windowByteCounts.lowerBound > 0, "A window needs room for at least one byte.")
        self.underlying = base
        self.windowByteCounts = windowByteCounts
    }

    /// The traits of the base; never blocks, as threads of a pool wait for the base.
    public var traits: BlobTraits { self.underlying.traits.union(.neverBlocks) }

    /// That of the base: the bytes are the same.
    public var locator: BlobLocator? { self.underlying.locator }

    package var layer: String { self.underlying.layerName }

    /// That of the base.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.underlying.info(context) }

    /// Starts to open a reader of the base, and returns at once.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        ReadAheadReader(windowByteCounts: self.windowByteCounts, context) { [underlying] context in
            try underlying.open(at: byteOffset, matching: validator, context: context)
        }
    }
}
