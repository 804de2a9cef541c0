import BlobStreams

/// Another source, made event-driven: its readers never block, and say that nothing is there yet.
///
/// A thread of a pool does the reading when the last bytes have been taken.
public struct EventDrivenSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source with the bytes of `base`.
    public init(_ base: any BlobInputStreamDataSource) { self.base = base }

    /// True.
    public var neverBlocks: Bool { true }

    /// Starts to open a reader of the base and returns at once: what is wrong with the opening shows as an event.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try ReadAheadSource(self.base).openReader(at: byteOffset, matching: validator, context: context)
    }
}
