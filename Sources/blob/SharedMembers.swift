import BlobStreamsStandard

/// The arguments that name members of one archive, which are read in one pass over it, and their digests.
struct SharedMembers {
    private let registry: BlobRegistry
    private var groups: ArchiveGroups
    private var digests: [Int: Result<[UInt8], BlobError>] = [:]

    init(_ arguments: [String], _ registry: BlobRegistry) {
        self.registry = registry
        self.groups = ArchiveGroups(arguments, registry)
    }

    /// Returns the digest of an argument, after reading all members of its archive that arguments name; nil when it is
    /// to be read on its own.
    ///
    /// - Parameter make: Makes a digest of a source.
    /// - Throws: The error of this argument; one of the archive's end concerns all its members.
    mutating func digest(
        _ position: Int, _ context: BlobContext, _ make: (any BlobInputStreamDataSource) throws -> [UInt8]
    ) throws -> [UInt8]? {
        if let group = self.groups.remove(of: position) { try self.read(group, context, make) }
        return try self.digests.removeValue(forKey: position)?.get()
    }

    private mutating func read(
        _ group: ArchiveGroups.Group, _ context: BlobContext, _ make: (any BlobInputStreamDataSource) throws -> [UInt8]
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
