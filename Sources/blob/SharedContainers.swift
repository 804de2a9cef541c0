import BlobStreamsStandard

/// The containers that several locators name, each opened once, and read in one pass if their members come in order.
struct SharedContainers {
    /// The maximum number of open containers, which keep the tables of their members in memory.
    private static let maximumCount = 16

    private let registry: BlobRegistry
    private let isOnePass: Bool
    private var containers: [String: any BlobContainer] = [:]
    private var passes: [ArchivePass] = []

    /// - Parameter isOnePass: True when members are read once and in turn; then ``finish(_:)`` makes the last checks.
    init(_ registry: BlobRegistry, isOnePass: Bool) {
        self.registry = registry
        self.isOnePass = isOnePass
    }

    /// Returns the source that an argument names, as a member of a container that is already open if possible.
    mutating func source(_ argument: String, _ context: BlobContext) throws -> any BlobInputStreamDataSource {
        let locator = try self.registry.locator(for: argument)
        guard let selector = locator.selectors.last, let parent = locator.container,
            self.registry.endsWithMember(locator)
        else {
            return try self.registry.source(for: locator, context: context)
        }
        if let container = self.containers[parent.text] { return try container.member(selector, context: context) }
        if self.containers.count == Self.maximumCount { try self.finish(context) }
        let container = try self.open(parent, context)
        self.containers[parent.text] = container
        return try container.member(selector, context: context)
    }

    private mutating func open(_ locator: BlobLocator, _ context: BlobContext) throws -> any BlobContainer {
        let container = try self.registry.container(for: locator, context: context)
        guard self.isOnePass, let archive = container as? ArchiveContainer else { return container }
        let (members, pass) = try archive.inOnePass(context)
        self.passes.append(pass)
        return members
    }

    /// Makes the checks at the ends of the containers, and closes them.
    mutating func finish(_ context: BlobContext) throws {
        for pass in self.passes { try pass.finish(context) }
        (self.containers, self.passes) = ([:], [])
    }
}
