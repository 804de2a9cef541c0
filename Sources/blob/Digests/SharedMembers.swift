import BlobStreamsStandard

/// The arguments of which those that name members of one archive are read in one pass over it, and their digests.
struct SharedMembers {
    typealias Digests = Result<[[UInt8]], BlobError>

    private let arguments: [String]
    private let sources: ArgumentSources
    private var groups: ArchiveGroups
    private var digests: [Int: Digests] = [:]

    init(_ arguments: [String], _ sources: ArgumentSources) {
        (self.arguments, self.sources) = (arguments, sources)
        self.groups = ArchiveGroups(arguments, sources.registry)
    }

    /// Returns the digests of an argument, after reading all members of its archive that arguments name. Once for each.
    ///
    /// An error at the archive's end concerns all its members.
    mutating func result(_ position: Int, _ context: BlobContext, _ hashing: Hashing) -> Digests {
        if let group = self.groups.remove(of: position) { self.read(group, context, hashing) }
        if let digests = self.digests.removeValue(forKey: position) { return digests }
        return Result { () throws(BlobError) in
            try hashing.digests(of: self.sources.source(self.arguments[position], context))
        }
    }

    private mutating func read(_ group: ArchiveGroups.Group, _ context: BlobContext, _ hashing: Hashing) {
        do {
            let (sources, locator) = (self.sources, group.archive)
            let archive = try sources.registry.openArchive(at: locator, context)
            try archive.forEachSource(of: group.members.map(\.selector), context) { number, source in
                let (position, selector) = group.members[number]
                self.digests[position] = Result { () throws(BlobError) in
                    try hashing.digests(
                        of: sources.member(selector, source, context) {
                            try sources.registry.openContainer(for: locator, $0)
                        })
                }
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
