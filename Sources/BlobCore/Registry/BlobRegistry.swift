/// The registered plugins, which resolve locators to sources.
///
/// A value: copy it, extend the copy, pass it on. Registration is always explicit.
///
/// ```swift
/// var plugins = BlobRegistry()
/// try plugins.register(FileSource.provider)
/// try plugins.register(.gzip)
/// let log = try plugins.source(for: "gzip+file:///var/log/syslog.1.gz")
/// ```
public struct BlobRegistry: Sendable {
    /// The maximum number of wrappers in a locator: a filter around each container. Each wrapper adds a frame to every
    /// read, and a locator may come from an untrusted source.
    private static let maximumWrapperCount = 2 * BlobLocator.maximumDepth

    /// The wrapper for containers that are found by signature, together with the filters around them.
    static let signatureWrapper = "archive"

    /// The providers, in the order of their registration.
    public private(set) var providers: [BlobProvider] = []

    /// Creates an empty registry.
    public init() {}

    /// Adds a provider.
    ///
    /// - Parameters:
    ///   - provider: The provider to add.
    ///   - isReplacing: True to take over schemes from other providers; providers left without a scheme are removed.
    /// - Throws: ``BlobError/Code/invalidArgument`` if a scheme is already registered and not replaced, is not valid,
    ///   or is reserved.
    public mutating func register(_ provider: BlobProvider, replacing isReplacing: Bool = false) throws(BlobError) {
        for scheme in provider.schemes {
            guard (try? BlobLocator("\(scheme):"))?.scheme == scheme, scheme != Self.signatureWrapper else {
                throw BlobError(.invalidArgument, "'\(scheme)' cannot be registered as a scheme.", operation: "resolve")
            }
            guard isReplacing || self.provider(for: scheme) == nil else {
                throw BlobError(.invalidArgument, "The scheme '\(scheme)' is already registered.", operation: "resolve")
            }
        }
        if isReplacing {
            self.providers = self.providers.compactMap { old in
                var old = old
                old.schemes.removeAll { provider.schemes.contains($0) }
                return old.schemes.isEmpty ? nil : old
            }
        }
        self.providers.append(provider)
    }

    /// Returns the provider with a scheme; nil if the scheme is not registered.
    package func provider(for scheme: String) -> BlobProvider? {
        self.providers.first { $0.schemes.contains(scheme) }
    }

    /// Returns the source for a locator.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``, and the errors of the providers.
    public func source(
        for locator: BlobLocator, context: BlobContext = BlobContext()
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        try self.resolving(locator) {
            guard case .source(let source) = try self.resolve(locator, context) else {
                throw BlobError(.invalidLocator, "This is a container; select a member of it, as in '#name' or '#@0'.")
            }
            return source
        }
    }

    /// Returns the source for a locator or path, as interpreted by ``locator(for:)``.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``, and the errors of the providers.
    public func source(
        for text: String, context: BlobContext = BlobContext()
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        try self.source(for: self.locator(for: text), context: context)
    }

    /// Returns the container for a locator, to list its members.
    ///
    /// - Throws: The errors of ``source(for:context:)-(BlobLocator,_)``; ``BlobError/Code/unsupported`` if the source
    ///   is not a container.
    public func container(
        for locator: BlobLocator, context: BlobContext = BlobContext()
    ) throws(BlobError) -> any BlobContainer {
        try self.resolving(locator) {
            switch try self.resolve(locator, context) {
            case .container(let container): container
            case .source(let source): try self.containerBySignature(source, context)
            }
        }
    }

    /// Returns the container in a source, found by signature, with the filters around it.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the source is not a container; the errors of reading it.
    package func container(
        of source: any BlobInputStreamDataSource, context: BlobContext = BlobContext()
    ) throws(BlobError) -> any BlobContainer {
        try BlobError.wrapping { try self.containerBySignature(source, context) }
    }

    /// Returns true for a file name with the extension of a container, or of one inside a filter.
    package func isArchive(named name: String) -> Bool {
        let name = name.lowercased()
        return self.providers.contains { provider in
            provider.fileExtensions.contains { fileExtension in
                switch provider.kind {
                case .origin: false
                case .container: name.hasSuffix(".\(fileExtension)")
                // Extensions such as `tbz2` mean a tar archive; a gzip is not recognised by `tgz`.
                case .filter:
                    name.hasSuffix(".tar.\(fileExtension)") || fileExtension == "gz" && name.hasSuffix(".tgz")
                        || fileExtension.hasPrefix("t") && name.hasSuffix(".\(fileExtension)")
                }
            }
        }
    }

    private enum Resolution {
        case source(any BlobInputStreamDataSource)
        case container(any BlobContainer)
    }

    /// Runs `find`, and marks its errors as errors of resolving `locator`.
    private func resolving<Found>(_ locator: BlobLocator, _ find: () throws -> Found) throws(BlobError) -> Found {
        do {
            return try find()
        } catch {
            let error = BlobError(wrapping: error)
            throw error.passing(
                layer: "BlobRegistry", operation: "resolve",
                locator: printableLocator(locator.text, isUnknown: error.code == .notRegistered))
        }
    }

    /// Builds the chain of sources from the base outwards; each container along the way consumes the next selector.
    private func resolve(_ locator: BlobLocator, _ context: BlobContext) throws -> Resolution {
        guard locator.selectors.count <= BlobLocator.maximumDepth else {
            throw BlobError(
                .limitExceeded,
                "The locator has \(locator.selectors.count) selectors, "
                    + "more than the limit of \(BlobLocator.maximumDepth)."
            )
        }
        let (wrappers, makeOrigin, _) = try self.split(locator.scheme)
        var source = try makeOrigin(locator.base(droppingWrappers: wrappers.count), context)
        var selectors = locator.selectors[...]
        // Without an explicit container, the selectors open the base, and the filters decode the member.
        if !wrappers.contains(where: isContainer) {
            while let selector = selectors.popFirst() {
                source = try self.containerBySignature(source, context).member(selector, context: context)
            }
        }
        for (index, wrapper) in wrappers.enumerated().reversed() {
            let container: any BlobContainer
            switch wrapper?.kind {
            case .filter(let decode):
                source = try decode(source, context)
                continue
            case .container(let open): container = try open(source, context)
            case .origin, nil: container = try self.containerBySignature(source, context)
            }
            guard let selector = selectors.popFirst() else {
                guard index == 0 else {
                    throw BlobError(
                        .invalidLocator, "A container inside another one can only be opened with a selector.")
                }
                return .container(container)
            }
            source = try container.member(selector, context: context)
        }
        for selector in selectors {
            source = try self.containerBySignature(source, context).member(selector, context: context)
        }
        return .source(source)
    }

    /// Returns true if a locator's origin is registered as connecting to other machines, regardless of its wrappers.
    ///
    /// Constant time, no I/O. False for a scheme that is not registered, which is an error when the locator is opened.
    public func reachesNetwork(_ locator: BlobLocator) -> Bool {
        (try? self.split(locator.scheme).reachesNetwork) ?? false
    }

    /// Returns the member that a locator identifies, undecoded: its container and its selector in it; nil if the
    /// locator identifies anything else.
    package func member(
        at locator: BlobLocator
    ) -> (container: BlobLocator, selector: BlobLocator.Selector)? {
        guard let selector = locator.selectors.last, let container = locator.container,
            let wrappers = try? self.split(locator.scheme).wrappers, wrappers.first.map(isContainer) ?? true
        else { return nil }
        return (container, selector)
    }

    /// Splits a scheme into its wrappers, outermost first (nil for the wrapper by signature), and the factory of its
    /// base.
    ///
    /// At each step, a registered scheme takes precedence over splitting.
    private func split(_ scheme: String) throws(BlobError) -> (
        wrappers: [BlobProvider?],
        makeOrigin: (BlobLocator, BlobContext) throws -> any BlobInputStreamDataSource, reachesNetwork: Bool
    ) {
        var wrappers: [BlobProvider?] = []
        var rest = scheme[...]
        while true {
            if let origin = self.provider(for: String(rest)), case .origin(let makeOrigin) = origin.kind {
                return (wrappers, makeOrigin, origin.reachesNetwork)
            }
            let name = String(rest.prefix { $0 != "+" })
            let isLast = name == rest
            guard wrappers.count < Self.maximumWrapperCount || isLast else {
                throw BlobError(
                    .limitExceeded, "The scheme has more wrappers than the limit of \(Self.maximumWrapperCount).")
            }
            let provider = self.provider(for: name)
            guard name == Self.signatureWrapper || provider != nil else {
                let alternatives = self.schemes { provider in
                    if case .origin = provider.kind { isLast } else { !isLast }
                }
                throw UnregisteredScheme(scheme: name, alternatives: alternatives).error
            }
            if isLast {
                throw BlobError(
                    .invalidLocator, "'\(name)' needs another source to decode, as in \(name)+file:///path.")
            }
            if case .origin = provider?.kind {
                throw BlobError(.invalidLocator, "'\(name)' is a source of its own and cannot wrap another one.")
            }
            wrappers.append(provider)
            rest = rest.dropFirst(name.count + 1)
        }
    }

    /// Opens `source` as a container, decoding the filters around it on the way.
    private func containerBySignature(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws -> any BlobContainer {
        var source = source
        for _ in 0..<BlobLocator.maximumDepth {
            let identification = try self.identify(source, context: context)
            source = identification.source
            switch identification.provider?.kind {
            case .filter(let decode): source = try decode(source, context)
            case .container(let open): return try open(source, context)
            case .origin, nil:
                // A source that can be read only once is no longer needed.
                guard try source.open(context: context).data(upTo: 1).count > 0 else {
                    throw BlobError(.unsupported, "Not an archive: the data is empty.")
                }
                let known = self.schemes { if case .container = $0.kind { true } else { false } }
                throw BlobError(
                    .unsupported,
                    "Not an archive in a known format (\(known.isEmpty ? "none" : known.joined(separator: ", "))).")
            }
        }
        throw BlobError(
            .limitExceeded, "The data has more nested filters than the limit of \(BlobLocator.maximumDepth).")
    }

    private func schemes(_ isIncluded: (BlobProvider) -> Bool) -> [String] {
        self.providers.filter(isIncluded).flatMap(\.schemes).sorted()
    }

    /// Returns the part of a locator that can be indexed: the outermost layer that supports it, or, for a plain source,
    /// the layer found by signature: first a container, which includes the filters around it, then a filter.
    ///
    /// - Throws: The errors of ``source(for:context:)-(BlobLocator,_)``; ``BlobError/Code/unsupported`` if nothing can
    ///   be indexed.
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
            guard let found else { throw BlobError(.unsupported, "No layer of this source can be indexed.") }
            return found
        }
    }

    private func indexableBySignature(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws -> (any BlobIndexing)? {
        // A source that can be read only once cannot be read again, so an index of it would be useless.
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

/// Returns true for a wrapper that is a container; nil is the wrapper by signature.
private func isContainer(_ wrapper: BlobProvider?) -> Bool {
    switch wrapper?.kind {
    case .container, nil: true
    case .filter, .origin: false
    }
}
