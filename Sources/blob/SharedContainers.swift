import BlobStreamsStandard

/// The containers that several locators name, each opened once.
struct SharedContainers {
    /// The maximum number of open containers, which keep the tables of their members in memory.
    private static let maximumCount = 16

    private let registry: BlobRegistry
    private var containers: [String: any BlobContainer] = [:]

    init(_ registry: BlobRegistry) { self.registry = registry }

    /// Returns the source that an argument names, as a member of a container that is already open if possible.
    mutating func source(_ argument: String, _ context: BlobContext) throws -> any BlobInputStreamDataSource {
        let locator = try BlobLocator(argument: argument, registry: self.registry)
        guard let selector = locator.selectors.last, let parent = try? locator.withoutLastSelector else {
            return try self.registry.source(for: locator, context: context)
        }
        if let container = self.containers[parent.text] { return try container.member(selector, context: context) }
        if self.containers.count == Self.maximumCount { self.containers = [:] }
        let container = try self.registry.container(for: parent, context: context)
        self.containers[parent.text] = container
        return try container.member(selector, context: context)
    }
}

extension BlobLocator {
    fileprivate var withoutLastSelector: BlobLocator {
        get throws(BlobError) {
            var locator = try BlobLocator("\(self.scheme):\(self.schemeSpecificPart)")
            for selector in self.selectors.dropLast() { locator = locator.selecting(selector) }
            return locator
        }
    }
}
