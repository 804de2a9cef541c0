import BlobStreamsStandard

/// The containers that several locators name, each opened once, and read in one pass if their members come in order.
struct SharedContainers {
    /// The maximum number of open containers, which keep the tables of their members in memory.
    private static let maximumCount = 16

    let sources: ArgumentSources
    private let isOnePass: Bool
    private var containers: [String: any BlobContainer] = [:]
    private var passes: [ArchivePass] = []
    /// The first error of a check that was made before its time, to make room.
    private var failure: BlobError?

    /// - Parameter isOnePass: True when members are read once and in turn; then ``finish(_:)`` makes the last checks.
    init(_ sources: ArgumentSources, isOnePass: Bool) {
        self.sources = sources
        self.isOnePass = isOnePass
    }

    /// Returns the source that an argument names, as a member of a container that is already open if possible.
    mutating func source(_ argument: String, _ context: BlobContext) throws -> any BlobInputStreamDataSource {
        let locator = try self.sources.registry.locator(for: argument)
        guard let selector = locator.selectors.last, let parent = locator.container,
            self.sources.registry.endsWithMember(locator)
        else {
            return try self.sources.source(argument, context)
        }
        if let container = self.containers[parent.text] {
            return try self.sources.member(selector, of: container, context)
        }
        if self.containers.count == Self.maximumCount {
            do {
                try self.finish(context)
            } catch {
                try context.check()
                self.failure = BlobError(wrapping: error)
            }
        }
        let container = try self.open(parent, context)
        self.containers[parent.text] = container
        return try self.sources.member(selector, of: container, context)
    }

    private mutating func open(_ locator: BlobLocator, _ context: BlobContext) throws -> any BlobContainer {
        let container = try self.sources.registry.openContainer(for: locator, context)
        guard self.isOnePass, let archive = container as? ArchiveContainer else { return container }
        let (members, pass) = try archive.inOnePass(context)
        self.passes.append(pass)
        return members
    }

    /// Makes the checks at the ends of the containers, and closes them.
    ///
    /// - Throws: The first error of all checks, after they are made.
    mutating func finish(_ context: BlobContext) throws {
        let passes = self.passes
        var first = self.failure
        (self.containers, self.passes, self.failure) = ([:], [], nil)
        for pass in passes {
            do {
                try pass.finish(context)
            } catch {
                first = first ?? BlobError(wrapping: error)
            }
        }
        if let first { throw first }
    }
}
