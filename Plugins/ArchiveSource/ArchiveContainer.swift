public import BlobCore
package import BlobIndex

/// An archive whose members are sources: tar, zip, 7z, cpio, ar, or a format that a helper process reads.
///
/// ```swift
/// let archive = ArchiveContainer(FileSource(path: "backup.zip"), format: .zip)
/// let member = try archive.member(.name("etc/hosts"), context: BlobContext())
/// try await member.write(to: url)
/// ```
///
/// Members are read in bounded memory, by exact name or index. Hard links are followed within the archive. Opening a
/// directory, a symbolic link or a device throws ``BlobError/Code/unsupported``, and no path in an archive is ever
/// opened on disk. Before the end of a member is reported, its length is verified, and so are the checksum in a zip or
/// 7z and the sum in a cpio of format `070702`. In a zip, the checksum must also agree with the directory. Tar, ar and
/// the other cpio formats have no checksum for the bytes of members; only a filter around the archive protects them.
/// Therefore, an archive without random access (see ``BlobInfo/isRandomAccess``) is read to its own end before the end
/// of the member is reported.
///
/// Data after the end of an archive throws ``BlobError/Code/trailingData``. A listing throws this error after the last
/// member; reading a member throws it if the reader reaches the end of the archive. Zeros, as left by tapes and disks,
/// are accepted, and so is the signature of a self-extracting program. After a tar, and before or after a zip, only
/// another archive of the same format is an error, because other data is common there. After a cpio, zeros and further
/// archives may follow, as in an initramfs, and their members are read too; the last archive may be compressed by gzip
/// or in a ``CompressionFormat``. A disc image with a UDF file system whose files ISO 9660 does not list throws
/// ``BlobError/Code/unsupported``.
///
/// The name of a zip member is the bytes stored in the zip. If no member has the requested name, the names that other
/// programs show are accepted too: names decoded from code page 437, and names cut off at a zero byte. A zip, 7z or RAR
/// may be self-extracting, that is, follow the program that unpacks it.
///
/// Opening a member of a 7z decodes its folder up to the member. The container keeps the decoder of the last folder
/// read, which takes as much memory as decoding, so that reading a later member of a solid folder continues from there.
/// Another process decodes the folder from its beginning, because the state of LZMA cannot be stored.
///
/// Encrypted members and headers of a 7z (AES-256) are read with ``BlobContext/password``. A wrong password throws
/// ``BlobError/Code/encrypted``, and so does damage that cannot be distinguished from a wrong password.
///
/// Zip and 7z have their table of contents at the end. An archive from a source without random access is copied once,
/// up to ``BlobContext/spoolLimit``.
///
/// The memory for decoding is bounded: a member or a coder that needs more than ``BlobContext/memoryLimit`` throws
/// ``BlobError/Code/limitExceeded`` before the memory is allocated, and so does a header of more than 128 MiB. For the
/// ``ArchiveFormat/helperFormats``, the limit of the helper process applies; see ``ArchiveIsolation``.
///
/// Reading a member by a name that several members share throws ``BlobError/Code/ambiguousMember``, before the first
/// byte if the archive has random access, and otherwise before the end.
///
/// A table of the members, from an index file or from the first pass over all of them, contains the position of each
/// member and shows which names are unique. It takes about 30 bytes per member.
///
/// A member whose bytes are stored unchanged has random access if the archive has random access. This applies to the
/// stored members of a zip, and to the members of a tar that are not sparse. An archive within such a member is read
/// without a copy. In a zip, the checksum of a member is verified only when the member is read from its beginning.
///
/// A writer without zip64, such as the archiver of macOS, stores the length of a member of 4 GiB or more modulo 2^32.
/// If this is likely for a deflated member, its length is unknown until its end, where the length must match modulo
/// 2^32 and the checksum must match; ``BlobMember/byteCount`` is the length in the directory.
///
/// A deflated member of a zip has random access once it has restart points. For members of at least 4 MiB, the first
/// read to the end stores them in the index file, if ``BlobContext/index`` allows one, and so does
/// ``BlobIndexing/buildIndex(_:)`` of the member. With restart points, decoding also uses several threads.
///
/// Encrypted members of a zip are read with ``BlobContext/password``: the traditional encryption and WinZip's AES,
/// whose authentication code is verified before the end. A wrong password throws ``BlobError/Code/encrypted`` when the
/// member is opened, with rare exceptions: one wrong password in 256 passes the check of the traditional encryption,
/// and one in 65,536 passes the check of AES. Such a password yields wrong bytes, and is detected by the end of the
/// member. An index contains nothing about decrypted bytes, and a copy of a decrypted archive is available only to
/// readers with the same password closure. Other encrypted members, such as members of a RAR, always throw
/// ``BlobError/Code/encrypted``.
///
/// - Complexity: Opening a member by index reads the headers before it, and opening a member by name reads all headers.
///   With a table, opening a member takes one look-up, plus one seek if the archive has random access and is a tar or
///   zip.
public struct ArchiveContainer: BlobContainer {
    private let archive: Archive
    private let catalogue: any ArchiveCatalogue
    private let pass: ArchivePass?

    /// Creates a container without reading anything.
    ///
    /// - Parameters:
    ///   - base: The source of the archive.
    ///   - format: The format of the archive.
    ///   - index: The policy for the index file that stores the table of members.
    ///   - isolation: The process that decodes an archive of a ``ArchiveFormat/helperFormats`` format, or a 7z with
    ///     rare coders. Ignored for other archives.
    public init(
        _ base: any BlobInputStreamDataSource, format: ArchiveFormat, index: BlobIndexPolicy = .none,
        isolation: ArchiveIsolation = .helper
    ) {
        let needsCopy = format.needsRandomAccess
        let whole = needsCopy ? SpooledSource(base) : base
        let canSkip = format.isEmbedded && (needsCopy || base.traits.contains(.repeatable))
        self.archive = Archive(
            base: canSkip ? EmbeddedSource(whole, format) : whole, format: format, isolation: isolation,
            tables: MemberTableCache(base, format, index))
        self.pass = nil
        let walked = WalkedCatalogue(archive: self.archive)
        self.catalogue =
            switch format {
            case .zip: ZipCatalogue(archive: self.archive)
            case .sevenzip:
                SevenZipCatalogue(archive: SevenZipArchive(self.archive.base, isolation), walked: walked)
            default: walked
            }
    }

    private init(_ container: ArchiveContainer, _ archive: Archive, _ pass: ArchivePass) {
        (self.archive, self.pass) = (archive, pass)
        self.catalogue = container.catalogue.inPass(pass, over: archive)
    }

    /// Returns a source of the member with this name or index; opening the source throws if the member does not exist.
    public func member(
        _ selector: BlobLocator.Selector, context: BlobContext
    ) throws -> any BlobInputStreamDataSource {
        MemberSource(self.archive, selector, self.catalogue, self.pass)
    }

    /// Calls `body` with each member, in the order of the archive (in a zip, of its directory), until it returns false.
    ///
    /// Reads the table of the members if it exists and the archive is not a zip. Otherwise reads the archive, and
    /// stores a table if the policy requests an index and the archive has enough members.
    ///
    /// - Throws: Any error while reading, after the members before it; any error thrown by `body`.
    public func forEachMember(_ context: BlobContext, _ body: (BlobMember) throws -> Bool) throws {
        // For a listing, the archive's own directory is as fast as a table.
        if !self.archive.format.hasDirectory, let table = try self.archive.tables.table(context) {
            return try table.forEach { record in
                try context.check()
                return try body(record.member)
            }
        }
        let isKnown = try self.archive.tables.table(context) != nil
        let recording = isKnown ? nil : try self.archive.tables.recording(isRequired: false, context)
        try self.catalogue.forEach(context, recording, body)
    }

    /// Returns the table for a search, built first if that is cheaper than further searches; nil without a table.
    func searchedTable(_ context: BlobContext) throws(BlobError) -> MemberTable? {
        try self.archive.tables.searchedTable(self.catalogue, context)
    }

    /// Returns a container whose members are read in one pass, and the pass, which the caller must finish.
    package func inOnePass(_ context: BlobContext) throws -> (container: ArchiveContainer, pass: ArchivePass) {
        try self.inOnePass(isInOrder: self.isSequential(context))
    }

    /// - Parameter isListed: True if the members are listed during the pass.
    private func inOnePass(
        isInOrder: Bool, isListed: Bool = false
    ) -> (container: ArchiveContainer, pass: ArchivePass) {
        var archive = self.archive
        if isInOrder { archive.base = InOrderSource(underlying: archive.base) }
        let pass = ArchivePass(archive, readsDirectory: isListed && archive.format.hasDirectory)
        return (ArchiveContainer(self, archive, pass), pass)
    }

    /// Calls `body` with each member and its source, in as few passes as possible, and performs the final checks.
    ///
    /// - Parameter isWanted: Returns true for the members that will be read; nil if most members will be read.
    func forEachSource(
        where isWanted: ((BlobMember) -> Bool)? = nil, _ context: BlobContext,
        _ body: (BlobMember, any BlobInputStreamDataSource) throws -> Void
    ) throws {
        let isInOrder = try isWanted == nil && !self.archive.format.needsRandomAccess || self.isSequential(context)
        let (container, pass) = self.inOnePass(isInOrder: isInOrder, isListed: true)
        if isInOrder {
            var next = 0
            while let member = try pass.member(from: next, context) {
                try body(member, container.member(.index(member.index), context: context))
                next = member.index + 1
            }
        } else {
            if let isWanted, self.archive.base.traits.contains(.preparable) {
                var wanted: [BlobLocator.Selector] = []
                try self.forEachMember(context) { member in
                    if isWanted(member) { wanted.append(.index(member.index)) }
                    return true
                }
                container.prepare(wanted, context)
            }
            try self.forEachMember(context) { member in
                try body(member, container.member(.index(member.index), context: context))
                return true
            }
        }
        try pass.finish(context)
    }

    /// True if several members are read fastest in one pass from beginning to end.
    ///
    /// This is the case if the source has no random access, or if the source is decompressed and no table of the
    /// members exists. Always false for a zip or 7z.
    package func isSequential(_ context: BlobContext) throws(BlobError) -> Bool {
        guard !self.archive.format.needsRandomAccess else { return false }
        if try !self.archive.base.info(context.blocking).isRandomAccess { return true }
        guard self.archive.base is DecompressedSource else { return false }
        return try self.archive.tables.table(context) == nil
    }

    /// Reads members in the order of the archive, in as few passes as possible.
    func read(
        _ selectors: [BlobLocator.Selector], _ context: BlobContext,
        _ body: (Int, any BlobInputStreamDataSource) throws -> Void
    ) throws {
        let (container, pass) = try self.inOnePass(context)
        var order = try self.archiveOrder(Array(selectors.indices), selectors, context)
        if order == nil, try self.isSequential(context) {
            // Without a table, the members come in the order of the archive, followed by the members that need another
            // search, because they are links or missing.
            var positions = Dictionary(grouping: selectors.indices) { selectors[$0] }
            var wanted = Set(selectors)
            while !wanted.isEmpty, let selector = try pass.advance(to: wanted, context) {
                guard let position = positions[selector]?.removeFirst() else { break }
                if positions[selector]?.isEmpty == true {
                    positions[selector] = nil
                    wanted.remove(selector)
                }
                try body(position, container.member(selector, context: context))
            }
            let rest = positions.values.flatMap { $0 }.sorted()
            order = try self.archiveOrder(rest, selectors, context) ?? rest
        }
        let inOrder = order ?? Array(selectors.indices)
        container.prepare(inOrder.map { selectors[$0] }, context)
        for position in inOrder {
            try body(position, container.member(selectors[position], context: context))
        }
        try pass.finish(context)
    }

    /// Prepares the source for reading the members in this order, if the source is preparable.
    ///
    /// Errors are reported when the members are read.
    ///
    /// - Parameter byteCount: The number of bytes needed from each member, including its header.
    package func prepare(
        _ selectors: [BlobLocator.Selector], upTo byteCount: Int64 = .max, _ context: BlobContext
    ) {
        guard !selectors.isEmpty, self.archive.base.traits.contains(.preparable) else { return }
        let table = try? self.archive.tables.table(context)
        guard let ranges = try? self.catalogue.ranges(of: selectors, table, context) else { return }
        self.archive.base.prepare(
            ranges.map { $0.lowerBound..<$0.lowerBound + min(byteCount, Int64($0.count)) }, context)
    }

    /// Returns the positions of selectors in the order of the members; nil if the order cannot be determined from a
    /// table or from the archive.
    private func archiveOrder(
        _ positions: [Int], _ selectors: [BlobLocator.Selector], _ context: BlobContext
    ) throws(BlobError) -> [Int]? {
        let wanted = positions.map { selectors[$0] }
        let indices =
            if let table = try self.archive.tables.table(context) {
                wanted.map { (try? table.record(of: $0))?.member.index ?? .max }
            } else {
                try self.catalogue.indices(of: wanted, context)
            }
        return indices.map { zip($0, positions).sorted { $0 < $1 }.map(\.1) }
    }
}

extension ArchiveContainer: BlobIndexing {
    /// Builds the table of the members, unless it exists, and the index of the archive's source.
    ///
    /// Uses the index policy of the container.
    ///
    /// - Returns: True if the members or the archive's source now have an index.
    /// - Throws: Any error reading the archive or writing the index.
    public func buildIndex(_ context: BlobContext) throws -> Bool {
        let base = self.archive.base as? any BlobIndexing
        var hasIndex = try self.archive.tables.table(context) != nil
        let baseHasIndex = Locked(false)
        if !hasIndex, let recording = try self.archive.tables.recording(isRequired: true, context) {
            // The archive's decoder may build its own index during the listing.
            var context = context
            context.eventSink = { [sink = context.eventSink] event in
                if event.kind == .indexBuilt { baseHasIndex.withLock { $0 = true } }
                sink?(event)
            }
            try self.catalogue.forEach(context, recording) { _ in true }
            hasIndex = try self.archive.tables.table(context) != nil
        }
        if baseHasIndex.withLock({ $0 }) { return true }
        let isBuilt = try base?.buildIndex(context) ?? false
        return hasIndex || isBuilt
    }
}

extension ArchiveContainer: IndexVerifying {
    /// Verifies the index of the archive's source.
    ///
    /// The table of members needs no verification, because its only checksum is verified when the table is read.
    package func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        try (self.archive.base as? any IndexVerifying)?.verifyIndex(context, report: report)
    }
}

extension ArchiveContainer: ToolIndexImporting {
    /// Imports an index for the archive's source, if the source is a gzip.
    package func importIndex(_ index: ToolIndex, _ context: BlobContext) throws -> Bool {
        guard let base = self.archive.base as? any ToolIndexImporting else {
            throw BlobError(.unsupported, "The index is for gzip data, but the archive is not compressed with gzip.")
        }
        return try base.importIndex(index, context)
    }
}

extension Archive {
    /// Returns a walker over the members.
    func walker(_ context: BlobContext) throws(BlobError) -> any MemberWalker {
        switch self.format {
        case .tar: return try TarWalker(over: self.base, context)
        case .sevenzip: return try SevenZipWalker(over: self.base, context, isolation: self.isolation)
        case .cpio: return try CpioWalker(over: self.base, context)
        case .ar, .zip: return try ArchiveWalker(self.format, over: self.base, context)
        case .iso:
            return try ISOWalker.walker(over: self.base, context) { whole throws(BlobError) in
                try self.isolation.walker(of: .iso, over: whole, context)
            }
        case .rar:
            let walker = try self.isolation.walker(of: .rar, over: self.base, context)
            return try RARWalker(walker, over: self.base, context)
        case .cab, .xar, .lha, .warc:
            return try self.isolation.walker(of: self.format, over: self.base, context)
        }
    }
}
