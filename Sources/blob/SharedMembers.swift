import BlobStreamsStandard

/// The arguments that name members of one archive, which are read in one pass over it, and their digests.
struct SharedMembers {
    /// An archive, and the positions and selectors of the arguments that name its members.
    private struct Group {
        let archive: BlobLocator
        var members: [(position: Int, selector: BlobLocator.Selector)] = []
    }

    private let registry: BlobRegistry
    /// By the text of the archive's locator; those with one member only are left out.
    private var groups: [String: Group] = [:]
    private var groupOfPosition: [Int: String] = [:]
    private var digests: [Int: Result<[UInt8], BlobError>] = [:]

    init(_ arguments: [String], _ registry: BlobRegistry) {
        self.registry = registry
        for (position, argument) in arguments.enumerated() {
            // Errors in an argument are reported when its turn comes.
            guard let locator = try? registry.locator(for: argument), let selector = locator.selectors.last,
                let archive = locator.container, registry.endsWithMember(locator)
            else { continue }
            self.groups[archive.text, default: Group(archive: archive)].members.append((position, selector))
            self.groupOfPosition[position] = archive.text
        }
        self.groups = self.groups.filter { $0.value.members.count > 1 }
    }

    /// Returns the digest of an argument, after reading all members of its archive that arguments name; nil when it is
    /// to be read on its own.
    ///
    /// - Parameter make: Makes a digest of a source.
    /// - Throws: The error of this argument; one of the archive's end concerns all its members.
    mutating func digest(
        _ position: Int, _ context: BlobContext, _ make: (any BlobInputStreamDataSource) throws -> [UInt8]
    ) throws -> [UInt8]? {
        if let text = self.groupOfPosition[position], let group = self.groups.removeValue(forKey: text) {
            try self.read(group, context, make)
        }
        return try self.digests.removeValue(forKey: position)?.get()
    }

    private mutating func read(
        _ group: Group, _ context: BlobContext, _ make: (any BlobInputStreamDataSource) throws -> [UInt8]
    ) throws {
        do {
            let archive = try BlobArchive(group.archive, registry: self.registry, context: context)
            try archive.forEachSource(of: group.members.map(\.selector), context) { number, source in
                self.digests[group.members[number].position] = Result { try make(source) }
                    .mapError { BlobError(wrapping: $0) }
            }
        } catch {
            let error = BlobError(wrapping: error)
            for member in group.members {
                // A member's own error says more than the archive's.
                if case .failure = self.digests[member.position] { continue }
                self.digests[member.position] = .failure(error)
            }
        }
    }
}
