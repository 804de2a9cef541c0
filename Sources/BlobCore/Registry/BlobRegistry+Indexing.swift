extension BlobRegistry {
    /// Returns the part of a locator that can be indexed: the outermost layer that supports it, or for a plain source
    /// the layer found by signature: a container first, which includes the filters around it, then a filter.
    ///
    /// - Throws: As ``source(for:context:)-(BlobLocator,_)``; ``BlobError/Code/unsupported`` when nothing can be
    ///   indexed.
    package func indexable(
        for locator: BlobLocator, context: BlobContext
    ) throws(BlobError) -> any BlobIndexing {
        try self.resolving(locator) {
            let found: (any BlobIndexing)?
            switch try self.resolve(locator, context) {
            case .container(let container): found = container as? any BlobIndexing
            case .source(let source):
                let layer = layerChain(of: source).lazy.compactMap { $0 as? any BlobIndexing }.first
                found = if let layer { layer } else { try self.indexableBySignature(source, context) }
            }
            guard let found else { throw BlobError(.unsupported, "No layer of this can be indexed.") }
            return found
        }
    }

    private func indexableBySignature(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws -> (any BlobIndexing)? {
        // A source that can be read only once cannot be read again, and an index of it would be of no use.
        guard source.traits.contains(.repeatable) else { return nil }
        do {
            if let container = try self.containerBySignature(source, context) as? any BlobIndexing { return container }
        } catch let error as BlobError where error.code == .unsupported {
            // Not a container; perhaps a filter.
        }
        let identification = try self.identify(source, context: context)
        guard case .filter(let decode) = identification.provider?.kind else { return nil }
        return try decode(identification.source, context) as? any BlobIndexing
    }
}
