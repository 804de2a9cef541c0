/// A source that stands on another one, and lets it be seen.
public protocol BlobLayer: BlobInputStreamDataSource {
    /// Whose bytes this one makes its own from.
    var underlying: any BlobInputStreamDataSource { get }
}

/// A source and those that it stands on, outermost first; ends at the first one that does not let its own be seen.
package func layers(
    of source: any BlobInputStreamDataSource
) -> some Sequence<any BlobInputStreamDataSource> {
    sequence(first: source) { ($0 as? any BlobLayer)?.underlying }
}
