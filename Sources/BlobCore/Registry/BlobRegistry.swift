/// The registered plugins, which resolve locators to sources.
///
/// A value: copy it, extend the copy, pass it on. Nothing registers itself.
///
/// ```swift
/// var plugins = BlobRegistry()
/// try plugins.register(FileSource.provider)
/// try plugins.register(.gzip)
/// let log = try plugins.source(for: "gzip+file:///var/log/syslog.1.gz")
/// ```
public struct BlobRegistry: Sendable {
    /// The maximum number of nested containers in a locator.
    static let maximumDepth = 8

    /// The maximum number of wrappers in a locator: a filter around each container. Each adds a frame to every read,
    /// and a locator may come from an untrusted source.
    static let maximumWrapperCount = 2 * maximumDepth

    /// The wrapper for containers, and the filters around them, that are found by signature.
    static let bySignature = "archive"

    /// The providers, in the order of their registration.
    public private(set) var providers: [BlobProvider] = []

    /// Creates an empty registry.
    public init() {}

    /// Adds a provider.
    ///
    /// - Parameters:
    ///   - provider: The provider to add.
    ///   - isReplacing: True to take schemes over from the providers that have them; providers without a scheme are
    ///     removed.
    /// - Throws: ``BlobError/Code/invalidArgument`` when a scheme is already registered and not replaced, or is not
    ///   valid.
    public mutating func register(_ provider: BlobProvider, replacing isReplacing: Bool = false) throws(BlobError) {
        for scheme in provider.schemes {
            guard (try? BlobLocator("\(scheme):"))?.scheme == scheme, scheme != Self.bySignature else {
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

    /// Returns the provider with a scheme; nil when there is none.
    package func provider(for scheme: String) -> BlobProvider? {
        self.providers.first { $0.schemes.contains(scheme) }
    }

    /// Returns the source that a locator stands for.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``, and the errors of the providers.
    public func source(
        for locator: BlobLocator, context: BlobContext = BlobContext()
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        try self.resolving(locator) {
            guard case .source(let source) = try self.resolve(locator, context) else {
                throw BlobError(.invalidLocator, "This is a container; name a member of it as in '#name' or '#@0'.")
            }
            return source
        }
    }

    /// Returns the source that a locator or path stands for, as interpreted by ``locator(for:)``.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/notRegistered``, and the errors of the providers.
    public func source(
        for text: String, context: BlobContext = BlobContext()
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        try self.source(for: self.locator(for: text), context: context)
    }

    /// Returns the container that a locator stands for, to list its members.
    ///
    /// - Throws: As ``source(for:context:)-(BlobLocator,_)``; ``BlobError/Code/unsupported`` when it is not a
    ///   container.
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
}
