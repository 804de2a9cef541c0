/// A source over another one, which it exposes.
public protocol BlobLayer: BlobInputStreamDataSource {
    /// The source from whose bytes this one makes its own.
    var underlying: any BlobInputStreamDataSource { get }
}

/// Returns a source and the sources below it, outermost first, up to the first one that is not a ``BlobLayer``.
package func layerChain(
    of source: any BlobInputStreamDataSource
) -> some Sequence<any BlobInputStreamDataSource> {
    sequence(first: source) { ($0 as? any BlobLayer)?.underlying }
}
