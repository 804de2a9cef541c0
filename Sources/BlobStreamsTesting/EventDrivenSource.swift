public import BlobCore

/// An event-driven version of a source: its readers never block, and return `notYet` while no bytes are available.
///
/// A thread of a pool reads the next bytes when the last ones have been taken.
public struct EventDrivenSource: ForwardingSource {
    package let base: any BlobInputStreamDataSource

    /// Creates a source with the bytes of `base`.
    public init(_ base: any BlobInputStreamDataSource) { self.base = base }

    /// The traits of the base; never blocks.
    public var traits: BlobTraits { self.base.traits.union(.neverBlocks) }

    /// Starts opening a reader of the base and returns at once; an error of opening is signalled as an event.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.base.readingAhead().makeBody(opening) }
}
