#if Command
import BlobStreamsStandard

/// The containers that several locators name, each opened once, and read in one pass if their members come in order.
final class SharedContainers {
    /// The maximum number of open containers, which keep the tables of their members in memory.
    private static let maximumCount = 16

    var sources: ArgumentSources
    private let isOnePass: Bool
    private let context: BlobContext
    private var containers: [String: any BlobContainer] = [:]
    private var passes: [ArchivePass] = []
    /// The first error of a check that was made before its time, to make room.
    private var failure: BlobError?

    /// - Parameter isOnePass: True when members are read once and in turn; then ``finish()`` makes the last checks.
    init(_ sources: ArgumentSources, isOnePass: Bool, _ context: BlobContext) {
        (self.sources, self.isOnePass, self.context) = (sources, isOnePass, context)
    }

    /// Returns the source that an argument names, as a member of a container that is already open if possible.
    func source(_ argument: String) throws -> any BlobInputStreamDataSource {
        let locator = try self.sources.registry.locator(for: argument)
        guard let (parent, selector) = self.sources.registry.member(at: locator) else {
            return try self.sources.source(argument, self.context)
        }
        return try self.sources.member(selector, of: self.container(parent), self.context)
    }

    /// Has the members of an archive requested before they are read, in the order of the arguments.
    ///
    /// - Parameter byteCount: The bytes that are needed of each.
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

    /// Makes the checks at the ends of the containers, and closes them.
    ///
    /// - Throws: The first error of all checks, after they are made.
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

/// The arguments that name members of archives, by archive.
struct ArchiveGroups {
    /// An archive, and the positions and selectors of the arguments that name its members: two or more.
    struct Group {
        let archive: BlobLocator
        fileprivate(set) var members: [(position: Int, selector: BlobLocator.Selector)] = []

        /// Calls `body` with the position of each argument and a function that makes its source, in one pass over the
        /// archive.
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

    /// By the text of the archive's locator.
    private var groups: [String: Group] = [:]
    private var groupOfPosition: [Int: String] = [:]

    init(_ arguments: [String], _ registry: BlobRegistry) {
        for (position, argument) in arguments.enumerated() {
            // Errors in an argument are reported when its turn comes.
            guard argument.utf8.contains(UInt8(ascii: "#")), let locator = try? registry.locator(for: argument),
                let (archive, selector) = registry.member(at: locator)
            else { continue }
            self.groups[archive.text, default: Group(archive: archive)].members.append((position, selector))
            self.groupOfPosition[position] = archive.text
        }
        self.groups = self.groups.filter { $0.value.members.count > 1 }
    }

    /// Removes and returns the group of an argument; nil when it has none, or that was removed before.
    mutating func remove(of position: Int) -> Group? {
        self.groupOfPosition[position].flatMap { self.groups.removeValue(forKey: $0) }
    }
}
#endif
