#if Command
import BlobStreamsStandard

/// Creates the sources of arguments according to a command's options.
struct ArgumentSources: Sendable {
    var registry: BlobRegistry
    /// True to decode all filters that are detected by signature.
    var decodes = false
    /// The prefetched sources of a list; nil if the arguments are not a list.
    var prefetched: PrefetchedSources?

    /// Returns the progress of reading whole arguments, and from then on counts the bytes for it.
    ///
    /// - Parameters:
    ///   - arguments: The arguments, each read once; nil if unknown.
    ///   - readsAll: True if archives are read from beginning to end.
    mutating func progress(
        _ line: ProgressLine, of arguments: [String]?, readsAll: Bool = false
    ) -> ProgressSum<String> {
        // Decoded bytes have no known length.
        let isOfInput = readsAll || self.decodes && arguments?.contains { $0.utf8.contains(UInt8(ascii: "#")) } == false
        let progress = ProgressSum(line, of: arguments, isOfInput: isOfInput, self.registry)
        self.registry = self.registry.counting(progress)
        return progress
    }

    /// Returns the source of an argument.
    func source(_ argument: String, _ context: BlobContext) throws(BlobError) -> any BlobInputStreamDataSource {
        if let source = self.prefetched?.take(argument, context) { return try self.decoded(source, context) }
        let locator = try self.registry.locator(for: argument)
        guard let (container, selector) = self.registry.member(at: locator) else {
            return try self.decoded(self.registry.source(for: locator, context: context), context)
        }
        return try self.member(selector, of: self.registry.openContainer(for: container, context), context)
    }

    /// Returns the source of a member of an open container.
    func member(
        _ selector: BlobLocator.Selector, of container: any BlobContainer, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        let member = try BlobError.wrapping { try container.member(selector, context: context) }
        return try self.member(selector, member, context) { _ in container }
    }

    /// Returns the source of a member according to the options.
    ///
    /// - Parameter openContainer: Opens the container of the member.
    func member(
        _ selector: BlobLocator.Selector, _ member: any BlobInputStreamDataSource, _ context: BlobContext,
        of openContainer: @escaping @Sendable (BlobContext) throws -> any BlobContainer
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        guard case .name(let name) = selector else { return try self.decoded(member, context) }
        let source = NamedMemberSource(member, named: name, openContainer) { [registry] member, context in
            try SourceContent(of: member, registry.signatureFilters(andContainers: true), context).container?.members
        }
        return try self.decoded(source, context)
    }

    /// Returns a source with its filters removed if the option requests this.
    func decoded(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        self.decodes ? try SourceContent(of: source, self.registry.signatureFilters(), context).source : source
    }
}

/// The content of a source inside its filters.
struct SourceContent {
    /// The maximum number of nested filters, the same as for containers detected by signature.
    private static let maximumFilterCount = 8

    /// The source of the bytes inside all filters.
    private(set) var source: any BlobInputStreamDataSource
    /// The schemes of the filters, outermost first.
    private(set) var filters: [String] = []
    /// The scheme and the members of the container inside the filters; nil if the content is not a container.
    private(set) var container: (scheme: String, members: any BlobContainer)?

    /// Removes the filters that a registry detects.
    ///
    /// - Parameter looking: Returns the context for reading the beginning of a source; nil means `context`.
    /// - Throws: ``BlobError/Code/limitExceeded`` for more than 8 filters; the errors of reading the beginning.
    init(
        of source: any BlobInputStreamDataSource, _ registry: BlobRegistry, _ context: BlobContext,
        looking: ((any BlobInputStreamDataSource) -> BlobContext)? = nil
    ) throws(BlobError) {
        self.source = source
        try BlobError.wrapping {
            while true {
                let found = try registry.identify(self.source, context: looking?(self.source) ?? context)
                self.source = found.source
                guard let provider = found.provider else { return }
                switch provider.kind {
                case .origin: return
                case .container(let open):
                    self.container = (provider.schemes[0], try open(self.source, context))
                    return
                case .filter(let decode):
                    guard self.filters.count < Self.maximumFilterCount else {
                        throw BlobError(
                            .limitExceeded,
                            "There are more nested filters than the limit of \(Self.maximumFilterCount).",
                            operation: "resolve", locator: source.locator?.description)
                    }
                    self.filters.append(provider.schemes[0])
                    self.source = try decode(self.source, context)
                }
            }
        }
    }

    /// The schemes of the filters, outermost first, followed by the container's scheme.
    var schemes: [String] { self.filters + (self.container.map { [$0.scheme] } ?? []) }

    /// The format in words, such as `tar in gzip`; nil if no format was detected.
    var text: String? { self.schemes.isEmpty ? nil : self.schemes.reversed().joined(separator: " in ") }
}

extension BlobRegistry {
    /// Returns a registry with only the filters that are detected by signature rather than by a name or a media type.
    func signatureFilters(andContainers: Bool = false) throws(BlobError) -> BlobRegistry {
        var registry = BlobRegistry()
        for provider in self.providers {
            switch provider.kind {
            case .origin: break
            case .container: if andContainers { try registry.register(provider) }
            case .filter where provider.signatures.isEmpty: break
            case .filter:
                try registry.register(
                    BlobProvider(provider.kind, schemes: provider.schemes, signatures: provider.signatures))
            }
        }
        return registry
    }
}
#endif
