import BlobIndex
import BlobStreams

/// Finds the table of the members of one archive, keeps it, and leaves it behind.
final class TableHolder: Sendable {
    /// Below, an archive is gone through in some milliseconds, and a table is not worth its place.
    private static let worthwhileCount = 1000

    /// A path of layers that is longer is not kept.
    private static let maximumLayerByteCount = 4096

    /// After so many searches a table would have cost less.
    private static let patience = [ArchiveFormat.zip: 8]
    private static let usualPatience = 2

    private struct State {
        var validator: BlobValidator?
        var table: MemberTable?
        /// Whether something that is not in the table was searched for in vain without it, too.
        var isConfirmed = false
        var searchCount = 0
    }

    private let base: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let policy: BlobIndexPolicy
    private let file: IndexFile?
    private let key: IndexSection.Key
    private let state = Locked(State())

    init(_ base: any BlobInputStreamDataSource, _ format: ArchiveFormat, _ policy: BlobIndexPolicy) {
        self.base = base
        self.format = format
        self.policy = policy
        let locator = base.locator
        let layer = locator?.layer(format.rawValue) ?? format.rawValue
        // Without locators, layers over one origin cannot be told apart.
        let isNameless =
            layer.utf8.count > Self.maximumLayerByteCount || locator == nil && base is any BlobLayer
        self.key = IndexSection.Key(layer: isNameless ? format.rawValue : layer, kind: .members)
        self.file = isNameless ? nil : IndexFile(policy, for: locator)
    }

    /// The bytes that all others are made from: they are what a table is valid for.
    private var origin: any BlobInputStreamDataSource {
        var origin = self.base
        while let layer = origin as? any BlobLayer { origin = layer.underlying }
        return origin
    }

    /// The table of the archive as it is now; nil when there is none.
    func table(_ context: BlobContext) throws(BlobError) -> MemberTable? {
        let origin = self.origin
        guard origin.capabilities.isSuperset(of: [.randomAccess, .repeatable]) else { return nil }
        guard let validator = try origin.checkedInfo(context).validator else { return nil }
        let known = self.state.withLock { $0.validator == validator ? $0 : nil }
        if let known { return known.table }
        var table: MemberTable?
        if let file, let content = try IndexedContent.of(origin, context),
            let section = try file.section(self.key, for: content)
        {
            do throws(BlobError) {
                table = try MemberTable(try section.bytes())
            } catch  where error.code != .io {
                // A damaged one is none; what cannot be read may be of use.
            }
        }
        self.state.withLock { $0 = State(validator: validator, table: table) }
        return table
    }

    /// Whether the table can be trusted in that there are no other members.
    var isConfirmed: Bool { self.state.withLock { $0.isConfirmed } }

    /// Trusts the table from now on.
    func confirm() { self.state.withLock { $0.isConfirmed = $0.table != nil } }

    /// Forgets a table that does not fit the archive, and the index file it may be from, unless the user named that.
    func discard() {
        self.state.withLock { ($0.table, $0.isConfirmed) = (nil, false) }
        if case .file = self.policy { return }
        _ = try? self.file?.remove()
    }

    /// The table for a search that is about to be made; made now if that is better than to go on searching.
    func searchedTable(_ listing: ArchiveListing) throws(BlobError) -> MemberTable? {
        if let table = try self.table(listing.context) { return table }
        guard self.shouldBuild() else { return nil }
        // What is damaged elsewhere does not keep a member from being read.
        try? listing.forEach(self.ownRecording(listing.context)) { _ in true }
        try listing.context.check()
        return try self.table(listing.context)
    }

    /// Counts a search without a table: whether making one is better, as many came before.
    private func shouldBuild() -> Bool {
        // Where members cannot be gone to, it saves little; those of a 7z are decoded one after the other anyway.
        guard self.format != .sevenzip, self.base.capabilities.isSuperset(of: [.randomAccess, .repeatable]) else {
            return false
        }
        return self.state.withLock {
            $0.searchCount += 1
            return $0.validator != nil && $0.searchCount >= Self.patience[self.format] ?? Self.usualPatience
        }
    }

    /// What gathers the members during a listing; nil when no table is wanted or of use.
    func recording(isRequired: Bool, _ context: BlobContext) throws(BlobError) -> TableRecording? {
        guard let file, let content = try IndexedContent.of(self.origin, context) else { return nil }
        let isNamed = if case .file = self.policy { true } else { false }
        return TableRecording(
            minimumCount: isRequired || isNamed ? 0 : Self.worthwhileCount
        ) { [self] bytes throws(BlobError) in
            try self.keep(bytes, context)
            do throws(BlobError) {
                try file.write(
                    [NewIndexSection(self.key, bytes: bytes)], for: content, isReplacing: isRequired)
                context.eventSink?(.indexBuilt(byteCount: Int64(bytes.count)))
            } catch {
                if isRequired || isNamed { throw error }
            }
        }
    }

    /// What gathers the members for this process alone.
    private func ownRecording(_ context: BlobContext) -> TableRecording {
        TableRecording(minimumCount: 0) { [self] bytes throws(BlobError) in try self.keep(bytes, context) }
    }

    private func keep(_ bytes: [UInt8], _ context: BlobContext) throws(BlobError) {
        let table = try MemberTable(bytes)
        let validator = try self.origin.checkedInfo(context).validator
        self.state.withLock { $0 = State(validator: validator, table: table) }
    }
}

/// A table that is made while an archive is listed, and kept when the listing is whole.
final class TableRecording {
    private var builder = MemberTableBuilder()
    private var count = 0
    private let minimumCount: Int
    private let keep: ([UInt8]) throws(BlobError) -> Void

    init(minimumCount: Int, keep: @escaping ([UInt8]) throws(BlobError) -> Void) {
        self.minimumCount = minimumCount
        self.keep = keep
    }

    func append(_ member: BlobMember, at place: Int64?) {
        self.builder.append(MemberTable.Record(member: member, place: place))
        self.count += 1
    }

    /// To be called when all members were there.
    func finish() throws(BlobError) {
        guard self.count >= self.minimumCount, let bytes = self.builder.finish() else { return }
        try self.keep(bytes)
    }
}
