import BlobCore

/// The members of a zip, in the order of its central directory.
struct ZipCatalogue: ArchiveCatalogue {
    /// The maximum length of a link target in bytes: PATH_MAX of Linux.
    private static let maximumTargetByteCount: Int64 = 4096

    /// The maximum length of a compressed link target in bytes: deflate blocks can go on without end and produce no
    /// byte, and many links can share them.
    private static let maximumCompressedTargetByteCount: Int64 = 2 * maximumTargetByteCount

    let archive: Archive
    /// The state that members share when several are read in a pass; nil to read each on its own.
    var pass: ZipPass?

    func inPass(_ pass: ArchivePass, over archive: Archive) -> any ArchiveCatalogue {
        ZipCatalogue(archive: archive, pass: ZipPass())
    }

    /// Calls `body` with each member in turn, until it returns false.
    ///
    /// - Parameter recording: Receives all members and the offsets of their entries; in the end also their extents if
    ///   some overlap.
    func forEach(
        _ context: BlobContext, _ recording: TableRecording?, _ body: (BlobMember) throws -> Bool
    ) throws {
        let directory = try ZipDirectory(self.archive.base, context)
        var records = directory.records()
        var links: ArchiveScanner?
        var clock = DOSClock()
        var extents = ZipExtents.Builder()
        var index = 0
        while let record = try records.next() {
            var member = record.member(index: index, &clock)
            if member.kind == .symbolicLink {
                // A separate scanner, because the directory still uses the buffer of the other.
                let scanner = try links ?? ArchiveScanner(self.archive.base, context)
                links = scanner
                member.linkTarget = self.target(
                    of: ZipEntry(record, index: index), scanner, before: directory.range.lowerBound, context)
            }
            // There is no table of more members, and their extents would only take memory.
            if let recording, index <= MemberTable.maximumCount {
                recording.append(member, at: records.recordOffset)
                extents.append(record, at: records.recordOffset)
            }
            guard try body(member) else { return }
            index += 1
            if index & 0xFFF == 0 { try context.check() }
        }
        try directory.checkCount(records)
        try directory.checkBeginning()
        guard let recording else { return }
        let found = ZipExtents(extents, before: directory.range.lowerBound)
        try recording.finish(overlapping: found.areDisjoint && !directory.isWrapped ? nil : found)
    }

    func find(_ query: MemberQuery, _ context: BlobContext) throws(BlobError) -> FoundMember {
        let (pass, known) = (query.isAlone ? nil : self.pass, query.known)
        let found = try ZipSearch(base: self.archive.base, selector: query.selector, context: context, pass: pass)
            .open(known?.record, overlapping: known == nil ? nil : self.archive.tables.extents)
        let entry = found.entry
        let isWrapped = try WrappedLength.isLikely(of: found)
        let isStored =
            entry.method == ZipStream.Method.stored.rawValue && entry.byteCount == entry.compressedByteCount
            && entry.encryption == nil
        return FoundMember(
            member: entry.member, byteCount: isWrapped ? nil : entry.byteCount, baseInfo: found.scanner.info,
            storedRange: isStored ? found.data : nil,
            facts: [("compressed size in bytes", entry.compressedByteCount)]
                + (entry.encryption.map { [("encryption", $0.name)] } ?? []),
            makeBody: { info, _ throws(BlobError) in try found.makeBody(info, over: self.archive.base, context) },
            indexed: isWrapped ? nil : DeflatedMember(found, over: self.archive.base, self.archive.tables.policy),
            makeCheckedBody: { [data = found.data] info, scanner, context throws(BlobError) in
                let again = ZipSearch.Found(entry: entry, data: data, scanner: scanner)
                return .stream(try ZipStream(again, .stored, info: info, context), startingAt: 0)
            })
    }

    /// Returns the target of a symbolic link, which is its contents; nil when it cannot be read.
    private func target(
        of entry: ZipEntry, _ scanner: ArchiveScanner, before next: Int64, _ context: BlobContext
    ) -> [UInt8]? {
        var entry = entry
        guard let method = ZipStream.Method(rawValue: entry.method), entry.encryption == nil,
            entry.byteCount <= Self.maximumTargetByteCount,
            entry.compressedByteCount <= Self.maximumCompressedTargetByteCount
        else { return nil }
        let around = ZipMemberBounds(precedingEnd: 0, next: next)
        guard let data = try? entry.locate(scanner, within: around),
            let stream = try? ZipStream(
                ZipSearch.Found(entry: entry, data: data, scanner: scanner), method,
                info: BlobInfo(byteCount: entry.byteCount), context)
        else { return nil }
        return try? stream.bytes(atMost: Int(entry.byteCount))
    }
}
