/// A source over another one, which it exposes.
public protocol BlobLayer: BlobInputStreamDataSource {
    /// The source from whose bytes this one makes its own.
    var underlying: any BlobInputStreamDataSource { get }
}

extension BlobLayer {
    /// The traits of the source below: a transform or an inspector blocks when its base does.
    public var traits: BlobTraits { self.underlying.traits }

    /// The locator of the source below.
    public var locator: BlobLocator? { self.underlying.locator }
}

extension BlobInputStreamDataSource {
    /// Returns the outermost of this source and those that it stands over, of a type; nil when none is.
    package func first<Source>(ofType type: Source.Type) -> Source? {
        var source: (any BlobInputStreamDataSource)? = self
        while let current = source {
            if let found = current as? Source { return found }
            source = (current as? any BlobLayer)?.underlying ?? (current as? any ForwardingSource)?.base
        }
        return nil
    }
}

/// Returns a source and the sources below it, outermost first, up to the first one that is not a ``BlobLayer``.
package func layerChain(
    of source: any BlobInputStreamDataSource
) -> some Sequence<any BlobInputStreamDataSource> {
    sequence(first: source) { ($0 as? any BlobLayer)?.underlying }
}
