import BlobCore
internal import BlobIndex

/// The owner of the member table of an archive, which loads the table from an index file, builds it and writes it.
final class MemberTableCache: Sendable {
    /// The minimum number of members for which a table is worth its space; listing fewer members takes a few
    /// milliseconds.
    private static let minimumTableCount = 1000

    /// The minimum size of a compressed archive, in bytes, for which a table of any size is worth its space: 4 MiB.
    private static let minimumCompressedByteCount: Int64 = 4 << 20

    /// The number of searches after which building a table is cheaper than further searches.
    private static let requiredSearchCounts = [ArchiveFormat.zip: 8]
    private static let usualSearchCount = 2

    private struct State {
        var validator: BlobValidator?
        var table: MemberTable?
        /// The extents of the members of a zip; nil if no members overlap and no length is modulo 2^32.
        var extents: ZipExtents?
        /// True after a search without the table also failed to find a member that is not in the table.
        var isKnownComplete = false
        /// True after a search without the table failed with the same error as a search with it.
        var arePlacesVerified = false
        var searchCount = 0
        /// True after a fault in the archive prevented listing it to its end.
        var hasUnlistableMembers = false
    }

    private let base: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    let policy: BlobIndexPolicy
    private let file: IndexFile?
    private let layer: String
    private let state = Locked(State())

    init(_ base: any BlobInputStreamDataSource, _ format: ArchiveFormat, _ policy: BlobIndexPolicy) {
        self.base = base
        self.format = format
        self.policy = policy
        let locator = base.locator
        self.layer = locator?.layer(format.rawValue) ?? format.rawValue
        // Without locators, layers over one origin cannot be distinguished.
        let hasLayerPath = locator != nil || !(base is any BlobLayer)
        self.file = hasLayerPath ? IndexFile(policy, for: locator, layer: self.layer) : nil
    }

    /// The key of the table in the file.
    private var key: IndexSection.Key { IndexSection.Key(layer: self.layer, kind: .members) }

    /// The source below all layers, for whose content a table is valid.
    private var origin: any BlobInputStreamDataSource {
        layerChain(of: self.base).reduce(self.base) { $1 }
    }

    /// Returns the identity of the archive's current content; nil if unknown, or if a table would not help.
    private func validator(_ context: BlobContext) throws(BlobError) -> BlobValidator? {
        let origin = self.origin
        // A source that can be read only once is copied, and the copy never changes.
        guard origin.traits.contains(.repeatable) else { return self.isCopied ? .strong("copy") : nil }
        let info = try origin.info(context.blocking)  // Archives block, regardless of the reader.
        return info.isRandomAccess || self.isCopied ? info.validator : nil
    }

    /// True if a base without random access is copied.
    private var isCopied: Bool { self.format.needsRandomAccess }

    /// Returns the identity of the content to which the table in the file belongs; nil if the content has no identity.
    ///
    /// For compressed data, equality of the parts that ``IndexFile/content(of:_:)`` compares proves that the content is
    /// the same. In a plain archive, a member between the parts may differ, for example by its name, and walking over
    /// the headers is cheap, so the table is valid only for the original file.
    private func content(in file: IndexFile, _ context: BlobContext) throws(BlobError) -> IndexedContent? {
        try self.isDecoded ? file.content(of: self.origin, context) : IndexedContent.read(from: self.origin, context)
    }

    /// True if a filter is between the archive and the origin.
    private var isDecoded: Bool {
        layerChain(of: self.base).contains { $0 is any RestartPointListing && !($0 is MemberSource) }
    }

    /// Returns the table of the archive's current content; nil if the content has no table.
    func table(_ context: BlobContext) throws(BlobError) -> MemberTable? {
        guard let validator = try self.validator(context) else { return nil }
        let known = self.state.withLock { $0.validator == validator ? $0 : nil }
        if let known { return known.table }
        var table: MemberTable?
        if let file, let content = try self.content(in: file, context) {
            table = try file.load(self.key, for: content) { try MemberTable($0) }
        }
        self.state.withLock { $0 = State(validator: validator, table: table) }
        return table
    }

    /// The extents of the members in the table of a zip; nil if no members overlap and no length is modulo 2^32.
    var extents: ZipExtents? { self.state.withLock { $0.extents } }

    /// True if the table is known to be complete.
    var isKnownComplete: Bool { self.state.withLock { $0.isKnownComplete } }

    /// Marks the table as complete.
    func markComplete() { self.state.withLock { $0.isKnownComplete = $0.table != nil } }

    /// True if the positions in the table are known to be correct, so that the archive itself causes errors of members.
    var arePlacesVerified: Bool { self.state.withLock { $0.arePlacesVerified } }

    /// Marks the positions in the table as correct.
    func markPlacesVerified() { self.state.withLock { $0.arePlacesVerified = $0.table != nil } }

    /// Discards a table that does not match the archive, and removes the index file unless the policy names it.
    func discard() {
        self.state.withLock { $0 = State(validator: $0.validator, searchCount: $0.searchCount) }
        self.file?.reportRefusal("it does not match the archive")
        self.file?.discard()
    }

    /// Returns the table for a search, after building it if that is cheaper than further searches; nil without a table.
    func searchedTable(
        _ catalogue: any ArchiveCatalogue, _ context: BlobContext
    ) throws(BlobError) -> MemberTable? {
        if let table = try self.table(context) { return table }
        guard self.shouldBuild() else { return nil }
        do {
            try catalogue.forEach(context, self.ownRecording(context)) { _ in true }
        } catch {
            try context.check()
            // Damage elsewhere need not prevent reading a member, but listing is not attempted again.
            let error = BlobError(wrapping: error)
            if error.mayBeCausedByTable, error.code != .encrypted {
                self.state.withLock { $0.hasUnlistableMembers = true }
            }
        }
        return try self.table(context)
    }

    /// Counts a search without a table; returns true once building a table is cheaper than further searches.
    private func shouldBuild() -> Bool {
        // A table saves little if the base can be read only once, or for a 7z, whose members are decoded in order
        // anyway.
        guard self.format != .sevenzip, self.base.traits.contains(.repeatable) || self.isCopied,
            !self.base.isDecrypted
        else { return false }
        return self.state.withLock {
            $0.searchCount += 1
            let isDue = $0.searchCount >= Self.requiredSearchCounts[self.format] ?? Self.usualSearchCount
            return $0.validator != nil && !$0.hasUnlistableMembers && isDue
        }
    }

    /// Returns a recording of the members during a listing; nil if a table is not requested or not useful.
    func recording(isRequired: Bool, _ context: BlobContext) throws(BlobError) -> TableRecording? {
        guard let file, let content = try self.content(in: file, context),
            let place = IndexDestination(
                in: file, layer: self.layer, for: content, of: self.origin, isRequired: isRequired, context)
        else { return nil }
        let isWorthwhile = self.isCompressed && content.byteCount >= Self.minimumCompressedByteCount
        let minimumCount = place.isRequired || isWorthwhile ? 0 : Self.minimumTableCount
        return TableRecording { [self] bytes, extents throws(BlobError) in
            guard let table = try self.keep(bytes, extents, context), table.count >= minimumCount, extents == nil
            else { return }
            try place.write { () throws(BlobError) in
                ([NewIndexSection(self.key, bytes: bytes)], Int64(bytes.count))
            }
        }
    }

    /// Returns a recording that stores the table only in the memory of this process.
    private func ownRecording(_ context: BlobContext) -> TableRecording {
        TableRecording { [self] bytes, extents throws(BlobError) in _ = try self.keep(bytes, extents, context) }
    }

    /// Returns a recording of the members that a search or a reader passes over; nil if a table is not requested or not
    /// useful.
    ///
    /// - Parameter isSequential: True if the pass reads the whole archive, which costs far more than building a
    ///   table.
    func optionalRecording(isSequential: Bool, _ context: BlobContext) throws(BlobError) -> TableRecording? {
        guard self.format != .sevenzip, try self.table(context) == nil,
            self.state.withLock({ $0.validator != nil })
        else { return nil }
        if let recording = try self.recording(isRequired: false, context) { return recording }
        return isSequential ? self.ownRecording(context) : nil
    }

    /// True if the archive is within another layer, such as a filter, in which skipping bytes is costly.
    private var isCompressed: Bool { self.base is any BlobLayer }

    /// Stores a table in the memory of this process, and returns it; returns nil if the table must not be stored.
    private func keep(
        _ bytes: [UInt8], _ extents: ZipExtents?, _ context: BlobContext
    ) throws(BlobError) -> MemberTable? {
        // Readers without the password must not receive the names of decrypted members.
        guard !self.base.isDecrypted else { return nil }
        let table = try MemberTable(bytes)
        let validator = try self.validator(context)
        self.state.withLock { $0 = State(validator: validator, table: table, extents: extents) }
        return table
    }
}

/// A table that is built while an archive is listed, and stored when the listing is complete.
final class TableRecording {
    private var builder = MemberTableBuilder()
    private let keep: Keep

    typealias Keep = (_ bytes: [UInt8], _ extents: ZipExtents?) throws(BlobError) -> Void

    /// - Parameter keep: A closure that stores the bytes of the table and, if needed, the extents of a zip's members.
    init(keep: @escaping Keep) { self.keep = keep }

    func append(_ member: BlobMember, at place: Int64?) {
        self.builder.append(MemberTable.Record(member: member, entryOffset: place))
    }

    /// Completes and stores the table. Must be called after the last member.
    ///
    /// - Parameter extents: The extents of a zip's members, if needed; a table with extents is not written to a file.
    func finish(overlapping extents: ZipExtents? = nil) throws(BlobError) {
        guard let bytes = self.builder.finish() else { return }
        try self.keep(bytes, extents)
    }
}
