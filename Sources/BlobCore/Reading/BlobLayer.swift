/// A source that wraps another source, and exposes it.
public protocol BlobLayer: BlobInputStreamDataSource {
    /// The wrapped source, from whose bytes this source derives its own.
    var underlying: any BlobInputStreamDataSource { get }
}

extension BlobLayer {
    /// The traits of the source below: a transform or an inspector blocks when its base does.
    public var traits: BlobTraits { self.underlying.traits }

    /// The locator of the source below.
    public var locator: BlobLocator? { self.underlying.locator }
}

extension BlobInputStreamDataSource {
    /// Returns the outermost source of a type among this source and the sources below it; nil if none has the type.
    package func first<Source>(ofType type: Source.Type) -> Source? {
        var source: (any BlobInputStreamDataSource)? = self
        while let current = source {
            if let found = current as? Source { return found }
            source = (current as? any BlobLayer)?.underlying ?? (current as? any ForwardingSource)?.base
        }
        return nil
    }
}

/// Returns a source and the sources below it, outermost first, down to the first source that is not a ``BlobLayer``.
package func layerChain(
    of source: any BlobInputStreamDataSource
) -> some Sequence<any BlobInputStreamDataSource> {
    sequence(first: source) { ($0 as? any BlobLayer)?.underlying }
}

/// A source that wraps another source, and forwards to it all requirements that it does not implement itself.
///
/// For layers that pass on the bytes of their base: they change the info, the traits or the reader.
package protocol ForwardingSource: BlobInputStreamDataSource {
    /// The underlying source.
    var base: any BlobInputStreamDataSource { get }

    /// Returns the traits of the layer, given the traits of the base.
    func traits(over base: BlobTraits) -> BlobTraits

    /// Returns the info of the layer, given the info of the base.
    func info(over base: BlobInfo) throws -> BlobInfo

    /// True for a layer that opens a reader of its base and is observed as that; false by default.
    var standsForBase: Bool { get }

    /// Returns the inspector of the bytes that pass; nil for a layer that returns the body of its base.
    func inspector(_ opening: BlobOpening) -> (any BlobInspector)?
}

extension ForwardingSource {
    package func traits(over base: BlobTraits) -> BlobTraits { base }
    package func info(over base: BlobInfo) throws -> BlobInfo { base }
    package var standsForBase: Bool { false }
    package func inspector(_ opening: BlobOpening) -> (any BlobInspector)? { nil }

    /// The traits of the base, unless the layer has others.
    public var traits: BlobTraits { self.traits(over: self.base.traits) }

    /// The locator of the base.
    public var locator: BlobLocator? { self.base.locator }

    /// Returns the info of the base, as changed by the layer.
    public func describe(_ context: BlobContext) throws -> BlobInfo {
        // So that errors name a base that stands for this source only once.
        let isSameLayer = self.base.layerName == self.layerName
        return try self.info(over: isSameLayer ? self.base.describe(context) : self.base.info(context))
    }

    /// Forwards the hint to the base.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) { self.base.prepare(ranges, context) }

    /// Returns the body of the base, or the bytes that the inspector passes.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        guard let inspector = self.inspector(opening) else { return try self.base.makeBody(opening) }
        return .inspected(try self.base.open(opening), inspector, startingAt: opening.byteOffset)
    }
}
