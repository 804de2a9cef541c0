import BlobStreams

/// An archive: the members of tar, zip, 7z, cpio and ar, each a source of its own.
///
/// Members are read in bounded memory, by exact name or index. Hard links are followed inside of the archive;
/// directories, symbolic links and devices are ``BlobError/Code/unsupported``, and nothing is ever opened on the disk.
/// Before the end of a member, every check of it passed: its length, and the checksum that zip and 7z have. Zip's must
/// be what the directory of the archive says too. Tar, cpio and ar have none for what is in a member; what vouches for
/// it is a filter around the archive, so one that is read from one end to the other (``BlobCapabilities/randomAccess``
/// is missing) is read to its own end before the member's.
///
/// Names of a zip are the bytes that it has. Where no member has the name that is asked for, the ones that other
/// programs show are accepted too: those in code page 437, and those that end at a zero. A zip, 7z or RAR may follow
/// the program that unpacks it.
///
/// The memory of decoding is bounded: an archive, a member or a coder that asks for more than 128 MiB is
/// ``BlobError/Code/limitExceeded`` before any memory is taken for it. For ``ArchiveFormat/foreign`` formats that is left
/// to libarchive.
///
/// A name that several members have is ``BlobError/Code/ambiguousMember``: before the first byte where the archive has
/// random access, else before the end.
///
/// A table of the members, from an index file or made in memory when members are searched for again, tells where each
/// one is and which names are unique; it takes some 30 bytes a member.
///
/// - Complexity: Opening a member goes through the headers before it, by name through all of them; with a table it is a
///   look-up, and one seek if the archive has random access and is tar or zip.
public struct ArchiveContainer: BlobContainer {
    /// How large an archive may be that must be copied to a temporary file, in bytes: 1 GiB.
    ///
    /// Zip and 7z have their contents at the end. Over a source without random access they are copied, to a file
    /// without a name in the folder for temporary files, once for all members; larger ones are
    /// ``BlobError/Code/limitExceeded``.
    public static let maximumSpooledByteCount: Int64 = 1 << 30

    private let base: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let tables: TableHolder

    /// Creates a container; nothing is read yet.
    ///
    /// - Parameters:
    ///   - base: The archive.
    ///   - format: What it is.
    ///   - index: Where the table of its members is kept.
    public init(_ base: any BlobInputStreamDataSource, format: ArchiveFormat, index: BlobIndexPolicy = .none) {
        let canSeek = base.capabilities.isSuperset(of: [.randomAccess, .repeatable])
        let isSpooled = format.needsRandomAccess && !canSeek
        let whole = isSpooled ? SpooledSource(base, maximumByteCount: Self.maximumSpooledByteCount) : base
        self.base = format.isEmbedded && (isSpooled || canSeek) ? EmbeddedSource(whole, format) : whole
        self.format = format
        self.tables = TableHolder(base, format, index)
    }

    /// The member with this name or index; whether there is one shows when it is opened.
    public func member(
        _ selector: BlobLocator.Selector, context: BlobContext
    ) throws -> any BlobInputStreamDataSource {
        MemberSource(self.base, self.format, selector, self.tables)
    }

    /// Lists the members, in their order in the archive (zip: in its directory).
    ///
    /// From the table of the members when there is one. Otherwise the archive is gone through, which leaves a table
    /// behind if an index is wanted and there are enough members for it.
    public func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws {
        // The directory of a zip is as good as a table here.
        if self.format != .zip, let table = try self.tables.table(context) {
            return try table.forEach { record in
                try context.check()
                return try body(record.member)
            }
        }
        let isKnown = try self.tables.table(context) != nil
        let recording = isKnown ? nil : try self.tables.recording(isRequired: false, context)
        try ArchiveListing(base: self.base, format: self.format, context: context).forEach(recording, body)
    }
}

extension ArchiveContainer {
    /// The table for a search that is about to be made: made now if that is better than to go on searching.
    func searchedTable(_ context: BlobContext) throws(BlobError) -> MemberTable? {
        try self.tables.searchedTable(ArchiveListing(base: self.base, format: self.format, context: context))
    }
}

extension ArchiveContainer: BlobIndexing {
    /// Lists the members once, unless there is a table of them, and has what is around the archive make its index too.
    ///
    /// The policy is the one that the container was made with.
    public func buildIndex(_ context: BlobContext) throws -> Bool {
        let base = self.base as? any BlobIndexing
        var hasIndex = try self.tables.table(context) != nil
        let baseHasIndex = Locked(false)
        if !hasIndex, let recording = try self.tables.recording(isRequired: true, context) {
            // The decoder of the archive may make an index of its own on the way.
            var context = context
            context.eventSink = { [sink = context.eventSink] event in
                if case .indexBuilt = event { baseHasIndex.withLock { $0 = true } }
                sink?(event)
            }
            try ArchiveListing(base: self.base, format: self.format, context: context).forEach(recording) { _ in true }
            hasIndex = try self.tables.table(context) != nil
        }
        if baseHasIndex.withLock({ $0 }) { return true }
        let isBuilt = try base?.buildIndex(context) ?? false
        return hasIndex || isBuilt
    }
}
