#if Command
import ArgumentParser
import BlobStreamsStandard

/// Computes digests of sources with several algorithms in one pass, with one progress line for all sources.
final class Hashing {
    private let algorithms: [CryptoDigest]
    private let hashers = Hashers()
    private let copier: Copier

    init(_ algorithms: [CryptoDigest], progress: ProgressSum<String>? = nil, _ context: BlobContext) {
        self.algorithms = algorithms
        self.copier = Copier(self.hashers, limit: nil, progress: progress, context)
    }

    /// Returns the digests of a source, in the order of the algorithms.
    func digests(of source: any BlobInputStreamDataSource) throws(BlobError) -> [[UInt8]] {
        self.hashers.all = self.algorithms.map { $0.makeHasher() }
        _ = try BlobError.wrapping { try self.copier.copy(source) }
        return self.hashers.all.indices.map { self.hashers.all[$0].finalize() }
    }

    /// Erases the progress line so that other output can be printed.
    func clear() { self.copier.finish() }

    private final class Hashers: ByteOutput {
        var all: [any BlobHasher] = []

        func write(_ bytes: UnsafeRawBufferPointer) { for index in self.all.indices { self.all[index].update(bytes) } }
    }
}

/// The digests of arguments; all arguments that name members of one archive are read in one pass.
struct SharedMembers {
    typealias Digests = Result<[[UInt8]], BlobError>

    private let arguments: [String]
    private var sources: ArgumentSources
    private let hashing: Hashing
    private var groups: ArchiveGroups
    private var digests: [Int: Digests] = [:]

    init(_ arguments: [String], _ sources: ArgumentSources, _ hashing: Hashing) {
        (self.arguments, self.sources, self.hashing) = (arguments, sources, hashing)
        self.groups = ArchiveGroups(arguments, sources.registry)
        self.sources.prefetched = PrefetchedSources(arguments, sources.registry)
    }

    /// Returns the digests of an argument, after reading every member of its archive that an argument names.
    ///
    /// Call this method once for each position.
    ///
    /// An error at the archive's end applies to all its members.
    mutating func result(_ position: Int, _ context: BlobContext) -> Digests {
        if let group = self.groups.remove(of: position) { self.read(group, context) }
        if let digests = self.digests.removeValue(forKey: position) { return digests }
        return Result { () throws(BlobError) in
            try self.hashing.digests(of: self.sources.source(self.arguments[position], context))
        }
    }

    private mutating func read(_ group: ArchiveGroups.Group, _ context: BlobContext) {
        do {
            let archive = try self.sources.registry.openArchive(at: group.archive, context)
            try group.forEachSource(in: archive, self.sources, context) { position, makeSource in
                self.digests[position] = Result { () throws(BlobError) in
                    try self.hashing.digests(of: makeSource())
                }
            }
        } catch {
            let error = BlobError(wrapping: error)
            for member in group.members {
                // A member's own error is more specific than the archive's.
                if case .failure = self.digests[member.position] { continue }
                self.digests[member.position] = .failure(error)
            }
        }
    }
}

/// A comma-separated list of algorithm names in one argument.
struct DigestNames: ExpressibleByArgument {
    let algorithms: [CryptoDigest]

    /// Finds the algorithms by name, ignoring case; fails if a name is unknown.
    init?(argument: String) {
        let names = argument.lowercased().split(separator: ",", omittingEmptySubsequences: false)
        self.algorithms = names.compactMap { name in CryptoDigest.all.first { $0.name == name } }
        if self.algorithms.count != names.count { return nil }
    }

    /// The names of all digests.
    static var allValueStrings: [String] { CryptoDigest.all.map(\.name) }
}

extension CryptoDigest {
    /// The length of a digest in bytes.
    var byteCount: Int { self.digest(of: [UInt8]()).count }
}
#endif
