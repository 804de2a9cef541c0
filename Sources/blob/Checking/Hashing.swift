import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard

/// The reading of sources for their digests, several in one pass, with one progress line for all of them.
final class Hashing {
    private let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Copier.bufferByteCount, alignment: 4096)
    let line: ProgressLine
    private let algorithms: [CryptoDigest]
    private let itemCount: Int?
    private let context: BlobContext
    private var finishedCount = 0
    private var byteCount: Int64 = 0

    /// - Parameter itemCount: The number of sources; nil when it is unknown.
    init(_ algorithms: [CryptoDigest], itemCount: Int?, _ line: ProgressLine, _ context: BlobContext) {
        (self.algorithms, self.itemCount, self.line, self.context) = (algorithms, itemCount, line, context)
    }

    deinit { self.buffer.deallocate() }

    /// Returns the digests of a source, in the order of the algorithms.
    func digests(of source: any BlobInputStreamDataSource) throws(BlobError) -> [[UInt8]] {
        let reader = try source.open(context: self.context)
        defer {
            reader.close()
            self.finishedCount += 1
        }
        var hashers = self.algorithms.map { $0.makeHasher() }
        let total = self.itemCount == 1 ? reader.info.byteCount : nil
        do {
            while case let count = try reader.readWaiting(into: self.buffer), count > 0 {
                let bytes = UnsafeRawBufferPointer(rebasing: self.buffer[..<count])
                for index in hashers.indices { hashers[index].update(bytes) }
                self.byteCount += Int64(count)
                self.line.show(
                    self.byteCount, of: total, note: ProgressLine.note(self.finishedCount, of: self.itemCount))
            }
        } catch {
            throw BlobError(wrapping: error)
        }
        return hashers.indices.map { hashers[$0].finalize() }
    }
}

/// The arguments of which those that name members of one archive are read in one pass over it, and their digests.
struct SharedMembers {
    typealias Digests = Result<[[UInt8]], BlobError>

    private let arguments: [String]
    private let sources: ArgumentSources
    private let hashing: Hashing
    private var groups: ArchiveGroups
    private var digests: [Int: Digests] = [:]

    init(_ arguments: [String], _ sources: ArgumentSources, _ hashing: Hashing) {
        (self.arguments, self.sources, self.hashing) = (arguments, sources, hashing)
        self.groups = ArchiveGroups(arguments, sources.registry)
    }

    /// Returns the digests of an argument, after reading all members of its archive that arguments name. Once for each.
    ///
    /// An error at the archive's end concerns all its members.
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
                // A member's own error says more than the archive's.
                if case .failure = self.digests[member.position] { continue }
                self.digests[member.position] = .failure(error)
            }
        }
    }
}

/// The names of algorithms in one argument, separated by commas.
struct DigestNames: ExpressibleByArgument {
    let algorithms: [CryptoDigest]

    /// Finds the algorithms, ignoring case; nil for an unknown name.
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
    var byteCount: Int {
        var hasher = self.makeHasher()
        return hasher.finalize().count
    }
}
