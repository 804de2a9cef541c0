import BlobCore

/// The members of an archive that is walked from member to member, which are of any format but zip.
struct WalkedCatalogue: ArchiveCatalogue {
    let base: any BlobInputStreamDataSource
    let format: ArchiveFormat
    let tables: TableHolder
    /// The pass in which members are read; nil when each is read on its own.
    var pass: ArchivePass?

    func forEach(
        _ context: BlobContext, _ recording: TableRecording?, _ body: (BlobMember) throws -> Bool
    ) throws {
        let walker = try self.format.walker(over: self.base, context)
        while let entry = try walker.next() {
            recording?.append(entry.member, at: walker.place)
            guard try body(entry.member) else { return }
        }
        try walker.finish()
        try recording?.finish()
    }

    func find(
        _ selector: BlobLocator.Selector, _ known: (table: MemberTable, record: MemberTable.Record)?, isAlone: Bool,
        _ context: BlobContext
    ) throws(BlobError) -> FoundMember {
        let search = MemberSearch(
            base: self.base, format: self.format, selector: selector, context: context, table: known?.table,
            tables: self.tables, pass: isAlone ? nil : self.pass)
        let found = try search.open(known?.record)
        return FoundMember(
            member: found.member, byteCount: found.entry.member.byteCount, baseInfo: found.walker.baseInfo,
            storedRange: found.walker.storedRange,
            makeBody: { info, _ throws(BlobError) in
                .stream(MemberStream(found, info: info, format: self.format, context), startingAt: 0)
            })
    }
}
