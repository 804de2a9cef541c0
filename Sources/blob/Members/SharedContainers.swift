#if Command
import BlobStreamsStandard

/// The containers that several locators name, each opened once. A container whose members are requested in order is
/// read in one pass.
final class SharedContainers {
    /// The maximum number of open containers, each of which keeps its table of members in memory.
    private static let maximumCount = 16

    var sources: ArgumentSources
    private let isOnePass: Bool
    private let context: BlobContext
    private var containers: [String: any BlobContainer] = [:]
    private var passes: [ArchivePass] = []
    /// The first error of the checks performed early to make room for another container.
    private var failure: BlobError?

    /// - Parameter isOnePass: True if members are read once and in order; ``finish()`` then performs the final checks.
    init(_ sources: ArgumentSources, isOnePass: Bool, _ context: BlobContext) {
        (self.sources, self.isOnePass, self.context) = (sources, isOnePass, context)
    }

    /// Returns the source that an argument names, as a member of an open container if possible.
    func source(_ argument: String) throws -> any BlobInputStreamDataSource {
        let locator = try self.sources.registry.locator(for: argument)
        guard let (parent, selector) = self.sources.registry.member(at: locator) else {
            return try self.sources.source(argument, self.context)
        }
        return try self.sources.member(selector, of: self.container(parent), self.context)
    }

    /// Requests the members of an archive before they are read, in the order of the arguments.
    ///
    /// - Parameter byteCount: The number of bytes needed from each member.
    func prepare(_ group: ArchiveGroups.Group, upTo byteCount: Int64 = .max) throws {
        let archive = try self.container(group.archive) as? ArchiveContainer
        archive?.prepare(group.members.map(\.selector), upTo: byteCount, self.context)
    }

    private func container(_ locator: BlobLocator) throws -> any BlobContainer {
        if let container = self.containers[locator.text] { return container }
        if self.containers.count == Self.maximumCount {
            do {
                try self.finish()
            } catch {
                try self.context.check()
                self.failure = BlobError(wrapping: error)
            }
        }
        let container = try self.open(locator)
        self.containers[locator.text] = container
        return container
    }

    private func open(_ locator: BlobLocator) throws -> any BlobContainer {
        let container = try self.sources.registry.openContainer(for: locator, self.context)
        guard self.isOnePass, let archive = container as? ArchiveContainer else { return container }
        let (members, pass) = try archive.inOnePass(self.context)
        self.passes.append(pass)
        return members
    }

    /// Performs the checks at the ends of the containers, and closes the containers.
    ///
    /// - Throws: The first error, after all checks are performed.
    func finish() throws {
        let passes = self.passes
        var first = self.failure
        (self.containers, self.passes, self.failure) = ([:], [], nil)
        for pass in passes {
            do {
                try pass.finish(self.context)
            } catch {
                first = first ?? BlobError(wrapping: error)
            }
        }
        if let first { throw first }
    }
}

/// The arguments that name members of archives, grouped by archive.
struct ArchiveGroups {
    /// An archive, and the positions and selectors of the two or more arguments that name its members.
    struct Group {
        let archive: BlobLocator
        fileprivate(set) var members: [(position: Int, selector: BlobLocator.Selector)] = []

        /// Calls `body` in one pass over the archive, with the position of each argument and a function that creates
        /// its source.
        func forEachSource(
            in archive: BlobArchive, _ sources: ArgumentSources, _ context: BlobContext,
            _ body: (_ position: Int, _ makeSource: () throws(BlobError) -> any BlobInputStreamDataSource) throws ->
                Void
        ) throws {
            let (registry, locator) = (sources.registry, self.archive)
            try archive.forEachSource(of: self.members.map(\.selector), context) { number, source in
                let (position, selector) = self.members[number]
                try body(position) { () throws(BlobError) in
                    try sources.member(selector, source, context) { try registry.openContainer(for: locator, $0) }
                }
            }
        }
    }

    /// The groups, keyed by the text of the archive's locator.
    private var groups: [String: Group] = [:]
    private var groupOfPosition: [Int: String] = [:]

    init(_ arguments: [String], _ registry: BlobRegistry) {
        for (position, argument) in arguments.enumerated() {
            // An invalid argument is reported when its turn comes.
            guard argument.utf8.contains(UInt8(ascii: "#")), let locator = try? registry.locator(for: argument),
                let (archive, selector) = registry.member(at: locator)
            else { continue }
            self.groups[archive.text, default: Group(archive: archive)].members.append((position, selector))
            self.groupOfPosition[position] = archive.text
        }
        self.groups = self.groups.filter { $0.value.members.count > 1 }
    }

    /// Removes and returns the group of an argument; nil if it has no group, or if its group was already removed.
    mutating func remove(of position: Int) -> Group? {
        self.groupOfPosition[position].flatMap { self.groups.removeValue(forKey: $0) }
    }
}
#endif
