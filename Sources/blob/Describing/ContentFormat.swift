import BlobStreamsStandard

/// The format of a source, as its content shows it.
struct ContentFormat {
    /// The schemes of the filters that signatures show, outermost first.
    let filters: [String]
    /// The scheme of the container within the filters; nil when there is none.
    let container: String?
    /// The members of the container; nil when there is none.
    let members: (any BlobContainer)?
    /// The source to continue with, whose beginning was read.
    let source: any BlobInputStreamDataSource

    /// - Throws: The errors of reading the beginning.
    init(of source: any BlobInputStreamDataSource, _ registry: BlobRegistry, _ context: BlobContext) throws(BlobError) {
        let decoded = try registry.decodingFilters(of: source, context)
        let identification = try registry.identify(decoded.source, context: context)
        self.filters = decoded.schemes
        self.source = decoded.schemes.isEmpty ? identification.source : source
        guard let provider = identification.provider, case .container(let open) = provider.kind else {
            (self.container, self.members) = (nil, nil)
            return
        }
        do {
            (self.container, self.members) = (provider.schemes[0], try open(identification.source, context))
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Returns the number of members; nil when only reading all of the archive tells it, or there is no container.
    func knownMemberCount(_ context: BlobContext) throws -> Int64? {
        guard let members = self.members as? ArchiveContainer, try !members.isSequential(context) else { return nil }
        var count: Int64 = 0
        try members.forEachMember(context) { _ in
            count += 1
            return true
        }
        return count
    }

    /// The format in words, such as `tar in gzip`; nil when the content shows none.
    var text: String? {
        let all = (self.container.map { [$0] } ?? []) + self.filters.reversed()
        return all.isEmpty ? nil : all.joined(separator: " in ")
    }
}
