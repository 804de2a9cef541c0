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
        let locator = try self.registry.locator(for: argument)
        guard let selector = locator.selectors.last, let parent = locator.container,
            self.registry.endsWithMember(locator)
        else {
            return try self.registry.source(for: locator, context: context)
        }
        if let container = self.containers[parent.text] { return try container.member(selector, context: context) }
        if self.containers.count == Self.maximumCount { self.containers = [:] }
        let container = try self.registry.container(for: parent, context: context)
        self.containers[parent.text] = container
        return try container.member(selector, context: context)
    }
}
