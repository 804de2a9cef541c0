import BlobCore
internal import BlobIndex

/// An archive with its source, its format, its isolation and the table of its members.
struct Archive: Sendable {
    var base: any BlobInputStreamDataSource
    let format: ArchiveFormat
    let isolation: ArchiveIsolation
    let tables: MemberTableCache

    /// True if the source can be read again, or is copied.
    var isRepeatable: Bool { self.base.traits.contains(.repeatable) || self.format.needsRandomAccess }
}

/// The members of one archive, which are listed, found and opened with or without a table.
protocol ArchiveCatalogue: Sendable {
    /// Calls `body` with each member in turn, until it returns false.
    ///
    /// - Parameter recording: Receives all members and their positions.
    func forEach(
        _ context: BlobContext, _ recording: TableRecording?, _ body: (BlobMember) throws -> Bool) throws

    /// Finds a member, and performs all checks that are possible before its first byte.
    func find(_ query: MemberQuery, _ context: BlobContext) throws(BlobError) -> FoundMember

    /// Returns the indices of members, or `Int.max` for members that are not found or not unique; nil if finding the
    /// indices would cost more than reading the members in order saves.
    func indices(of selectors: [BlobLocator.Selector], _ context: BlobContext) throws(BlobError) -> [Int]?

    /// Returns the ranges of the source that are needed to read the members, without members that are not found or
    /// whose ranges are unknown.
    ///
    /// - Parameter table: The table of the members; nil if the archive has no table.
    func ranges(
        of selectors: [BlobLocator.Selector], _ table: MemberTable?, _ context: BlobContext
    ) throws(BlobError) -> [Range<Int64>]

    /// Returns the members of the same archive, to be read in a pass from another source of the same bytes.
    func inPass(_ pass: ArchivePass, over archive: Archive) -> any ArchiveCatalogue
}

extension ArchiveCatalogue {
    func indices(of selectors: [BlobLocator.Selector], _ context: BlobContext) throws(BlobError) -> [Int]? { nil }

    func ranges(
        of selectors: [BlobLocator.Selector], _ table: MemberTable?, _ context: BlobContext
    ) throws(BlobError) -> [Range<Int64>] { [] }
}

/// The member to search for.
struct MemberQuery {
    let selector: BlobLocator.Selector
    /// The table of the members, and this member's record in it; nil to search for the member.
    var knownRecord: (table: MemberTable, record: MemberTable.Record)?
    /// True to read the member outside the current pass, if any.
    var isOutsidePass = false
}

/// A member that was found, with the closures that read it.
struct FoundMember {
    typealias MakeCheckedBody =
        @Sendable (_ info: BlobInfo, _ scanner: ArchiveScanner, _ context: BlobContext) throws(BlobError) -> BlobBody

    let member: BlobMember
    /// The length in bytes; nil if unknown before the end.
    let byteCount: Int64?
    /// The info of the archive when it was opened.
    let baseInfo: BlobInfo
    /// The range of the bytes in the archive, if they are stored unchanged; nil otherwise.
    let storedRange: Range<Int64>?
    /// The facts specific to this format.
    var facts: [(name: String, value: any Encodable & Sendable)] = []
    /// Returns the bytes of the member from an offset on, or from its beginning if that costs no more.
    ///
    /// Must be called only once.
    let makeBody: (_ info: BlobInfo, _ byteOffset: Int64) throws(BlobError) -> BlobBody
    /// The source of the decoded bytes of a member with its own index; nil for a member without an index.
    var indexed: (any BlobIndexing & IndexVerifying & RestartPointListing)?
    /// Returns a body that verifies the checksum of a stored member; nil without a checksum.
    ///
    /// May be called any number of times.
    var makeCheckedBody: MakeCheckedBody?
    /// The info of the member as a source; set by ``MemberSource``.
    var info = BlobInfo()
    var storedMember: StoredMember?
}

/// The members of an archive that is walked from member to member: an archive in any format except zip.
struct WalkedCatalogue: ArchiveCatalogue {
    let archive: Archive
    /// The pass in which members are read; nil if each member is read on its own.
    var pass: ArchivePass?

    func inPass(_ pass: ArchivePass, over archive: Archive) -> any ArchiveCatalogue {
        WalkedCatalogue(archive: archive, pass: pass)
    }

    func forEach(
        _ context: BlobContext, _ recording: TableRecording?, _ body: (BlobMember) throws -> Bool
    ) throws {
        let walker = try self.archive.walker(context)
        walker.willRead(from: .max)
        while let entry = try walker.next() {
            recording?.append(entry.member, at: walker.entryOffset)
            guard try body(entry.member) else { return }
        }
        try walker.finish()
        try recording?.finish()
    }

    func ranges(
        of selectors: [BlobLocator.Selector], _ table: MemberTable?, _ context: BlobContext
    ) throws(BlobError) -> [Range<Int64>] {
        // In other formats, the position may not be an offset.
        guard [.tar, .cpio, .ar].contains(self.archive.format), let table else { return [] }
        return selectors.compactMap { selector in
            guard let record = try? table.record(of: selector), let start = record.entryOffset,
                let next = try? table.record(at: record.member.index + 1)?.entryOffset, next > start
            else { return nil }
            return start..<next
        }
    }

    func find(_ query: MemberQuery, _ context: BlobContext) throws(BlobError) -> FoundMember {
        let search = MemberSearch(
            archive: self.archive, selector: query.selector, context: context, table: query.knownRecord?.table,
            pass: query.isOutsidePass ? nil : self.pass)
        let found = try search.open(query.knownRecord?.record)
        return FoundMember(
            member: found.member, byteCount: found.entry.member.byteCount, baseInfo: found.walker.baseInfo,
            storedRange: found.walker.storedRange,
            makeBody: { info, _ throws(BlobError) in
                .stream(MemberStream(found, info: info, format: self.archive.format, context), startingAt: 0)
            })
    }
}
