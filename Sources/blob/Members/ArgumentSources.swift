import BlobStreamsStandard

/// The sources of arguments, as the options of a command have them.
struct ArgumentSources: Sendable {
    let registry: BlobRegistry
    /// True to decode all filters that signatures show.
    var decodes = false

    /// Returns the source of an argument.
    func source(_ argument: String, _ context: BlobContext) throws(BlobError) -> any BlobInputStreamDataSource {
        let locator = try self.registry.locator(for: argument)
        guard let selector = locator.selectors.last, let container = locator.container,
            self.registry.endsWithMember(locator)
        else {
            return try self.decoded(self.registry.source(for: locator, context: context), context)
        }
        return try self.member(selector, of: self.registry.openContainer(for: container, context), context)
    }

    /// Returns the source of a member of a container that is open.
    func member(
        _ selector: BlobLocator.Selector, of container: any BlobContainer, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        do {
            return try self.member(selector, container.member(selector, context: context), context) { _ in container }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Returns the source of a member as the options have it.
    ///
    /// - Parameter openContainer: Opens the container of the member.
    func member(
        _ selector: BlobLocator.Selector, _ member: any BlobInputStreamDataSource, _ context: BlobContext,
        of openContainer: @escaping @Sendable (BlobContext) throws -> any BlobContainer
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        guard case .name(let name) = selector else { return try self.decoded(member, context) }
        return try self.decoded(NamedMemberSource(member, named: name, openContainer), context)
    }

    /// Returns a source with its filters taken off, if the option wants that.
    func decoded(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        self.decodes ? try self.registry.decodingFilters(of: source, context).source : source
    }
}

extension BlobRegistry {
    /// The maximum number of nested filters, as that of containers by signature.
    private static let maximumFilterCount = 8

    /// Returns a source with all filters taken off that signatures show, and their schemes, outermost first.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` for more than 8 filters; the errors of reading the beginning.
    func decodingFilters(
        of source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> (source: any BlobInputStreamDataSource, schemes: [String]) {
        // A name or a media type that says gzip shows no filter.
        var filters = BlobRegistry()
        for provider in self.providers where !provider.signatures.isEmpty {
            guard case .filter = provider.kind else { continue }
            try filters.register(
                BlobProvider(provider.kind, schemes: provider.schemes, signatures: provider.signatures))
        }
        var (source, schemes): (any BlobInputStreamDataSource, [String]) = (source, [])
        while schemes.count <= Self.maximumFilterCount {
            let identification = try filters.identify(source, context: context)
            source = identification.source
            guard let provider = identification.provider, case .filter(let decode) = provider.kind else {
                return (source, schemes)
            }
            do {
                source = try decode(source, context)
            } catch {
                throw BlobError(wrapping: error)
            }
            schemes.append(provider.schemes[0])
        }
        throw BlobError(
            .limitExceeded, "There are more nested filters than the limit of \(Self.maximumFilterCount).",
            operation: "resolve", locator: source.locator?.description)
    }
}
