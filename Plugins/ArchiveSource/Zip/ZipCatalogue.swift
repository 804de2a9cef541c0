import BlobCore

/// The members of a zip, in the order of its central directory.
struct ZipCatalogue: ArchiveCatalogue {
    /// The maximum length of a link target in bytes: PATH_MAX of Linux.
    private static let maximumTargetByteCount: Int64 = 4096

    /// The maximum length of a compressed link target in bytes.
    ///
    /// Limited because a deflate stream can be arbitrarily long without producing bytes, and many links can share the
    /// same stream.
    private static let maximumCompressedTargetByteCount: Int64 = 2 * maximumTargetByteCount

    let archive: Archive
    /// The state that members share when several are read in a pass; nil to read each member on its own.
    var pass: ZipPass?

    func inPass(_ pass: ArchivePass, over archive: Archive) -> any ArchiveCatalogue {
        ZipCatalogue(archive: archive, pass: ZipPass())
    }

    /// Calls `body` with each member in turn, until it returns false.
    ///
    /// - Parameter recording: Receives all members, the offsets of their entries and, at the end, the members' extents
    ///   if some overlap.
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
                // A separate scanner, because the directory is still using the other scanner's buffer.
                let scanner = try links ?? ArchiveScanner(self.archive.base, context)
                links = scanner
                member.linkTarget = self.target(
                    of: ZipEntry(record, index: index), scanner, before: directory.range.lowerBound, context)
            }
            // A table cannot contain more members, and their extents would only waste memory.
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

    func ranges(
        of selectors: [BlobLocator.Selector], _ table: MemberTable?, _ context: BlobContext
    ) throws(BlobError) -> [Range<Int64>] {
        guard let pass else { return try Self.ranges(of: selectors, table, ZipDirectory(self.archive.base, context)) }
        return try pass.withLease(over: self.archive.base, context) { lease throws(BlobError) in
            lease.members.skipGaps()
            return try Self.ranges(of: selectors, table, lease.directory)
        }
    }

    private static func ranges(
        of selectors: [BlobLocator.Selector], _ table: MemberTable?, _ directory: ZipDirectory
    ) throws(BlobError) -> [Range<Int64>] {
        if let table {
            return selectors.compactMap { selector in
                guard let place = try? table.record(of: selector).entryOffset else { return nil }
                var records = directory.records(from: place)
                return try? records.next()?.likelyRange
            }
        }
        let wanted = Set(selectors)
        var found: [BlobLocator.Selector: Range<Int64>] = [:]
        var records = directory.records()
        var index = 0
        while let record = try records.next() {
            for selector in [.index(index), .name(record.name)] as [BlobLocator.Selector]
            where wanted.contains(selector) {
                found[selector] = record.likelyRange
            }
            index += 1
        }
        return selectors.compactMap { found[$0] }
    }

    func find(_ query: MemberQuery, _ context: BlobContext) throws(BlobError) -> FoundMember {
        let (pass, known) = (query.isOutsidePass ? nil : self.pass, query.knownRecord)
        let found = try ZipSearch(base: self.archive.base, selector: query.selector, context: context, pass: pass)
            .open(known?.record, overlapping: known == nil ? nil : self.archive.tables.extents)
        let entry = found.entry
        let isWrapped = try WrappedLength.isLikely(of: found)
        let isStored =
            entry.method == ZipStream.Method.stored.rawValue && entry.byteCount == entry.compressedByteCount
            && entry.encryption == nil
        let indexed = isWrapped ? nil : DeflatedMember(found, over: self.archive.base, self.archive.tables.policy)
        return FoundMember(
            member: entry.member, byteCount: isWrapped ? nil : entry.byteCount, baseInfo: found.scanner.info,
            storedRange: isStored ? found.data : nil,
            facts: [("compressed size in bytes", entry.compressedByteCount)]
                + (entry.encryption.map { [("encryption", $0.name)] } ?? []),
            makeBody: { info, byteOffset throws(BlobError) in
                if let indexed, byteOffset == 0 || info.isRandomAccess {
                    return try indexed.makeBody(at: byteOffset, info, context)
                }
                return try found.makeBody(info, over: self.archive.base, context)
            },
            indexed: indexed?.source,
            makeCheckedBody: { [data = found.data] info, scanner, context throws(BlobError) in
                let again = ZipSearch.FoundEntry(entry: entry, data: data, scanner: scanner)
                return .stream(try ZipStream(again, .stored, info: info, context), startingAt: 0)
            })
    }

    /// Returns the target of a symbolic link, which is its content; nil if it cannot be read.
    private func target(
        of entry: ZipEntry, _ scanner: ArchiveScanner, before next: Int64, _ context: BlobContext
    ) -> [UInt8]? {
        var entry = entry
        guard let method = ZipStream.Method(rawValue: entry.method), entry.encryption == nil,
            entry.byteCount <= Self.maximumTargetByteCount,
            entry.compressedByteCount <= Self.maximumCompressedTargetByteCount
        else { return nil }
        let around = ZipMemberBounds(precedingEndOffset: 0, nextRecordOffset: next)
        guard let data = try? entry.locate(scanner, within: around),
            let stream = try? ZipStream(
                ZipSearch.FoundEntry(entry: entry, data: data, scanner: scanner), method,
                info: BlobInfo(byteCount: entry.byteCount), context)
        else { return nil }
        return try? stream.bytes(atMost: Int(entry.byteCount))
    }
}

/// The open directory and the byte reader that members of a zip share when they are read one after the other.
///
/// Without this state, reading each member would open the archive four times and read its trailer. The state consists
/// of two open bases and their buffers.
final class ZipPass: Sendable {
    /// A lease of the pass for one member.
    ///
    /// Has one owner, and ends when the owner releases it.
    final class Lease {
        let directory: ZipDirectory
        let members: ArchiveScanner
        private let cancellationRegistration: BlobRegistration

        fileprivate init(
            _ directory: ZipDirectory, _ members: ArchiveScanner, _ cancellationRegistration: BlobRegistration
        ) {
            (self.directory, self.members, self.cancellationRegistration) = (
                directory, members, cancellationRegistration
            )
        }

        deinit { self.cancellationRegistration.cancel() }
    }

    private struct ParkedScanners {
        let directory: ZipDirectory
        var members: ArchiveScanner
        let context: BlobContext

        /// Returns true if no reader uses the state, and a new reader can use it.
        mutating func isUsable(for context: BlobContext) -> Bool {
            self.context.hasSameLimits(as: context) && !self.context.cancellation.isCancelled
                && !self.directory.scanner.hasFailed && !self.members.hasFailed
                && isKnownUniquelyReferenced(&self.members)
        }
    }

    private let parkedScanners = Locked<UnsafeTransfer<ParkedScanners>?>(nil)
    private let extents = Locked<(info: BlobInfo, result: Result<ZipExtents, BlobError>)?>(nil)

    /// Returns the extents of all members.
    ///
    /// The extents, or the error for an inconsistent directory, are cached until the content changes.
    func extents(_ directory: ZipDirectory, _ context: BlobContext) throws(BlobError) -> ZipExtents {
        let info = directory.scanner.info
        let known = self.extents.withLock { known in
            known?.info.validator == info.validator && known?.info.byteCount == info.byteCount ? known?.result : nil
        }
        if let known { return try known.get() }
        let result = Result { () throws(BlobError) in try directory.extents(context) }
        if case .failure(let error) = result, error.code != .inconsistent { throw error }
        self.extents.withLock { $0 = (info, result) }
        return try result.get()
    }

    /// Calls `body` with the directory and the reader of the members.
    ///
    /// Both are reused from the previous member, if that member is no longer being read and neither of them has failed.
    func withLease<Result>(
        over base: any BlobInputStreamDataSource, _ context: BlobContext,
        _ body: (Lease) throws(BlobError) -> Result
    ) throws(BlobError) -> Result {
        // Safe: taken under the lock, and put back when only the reader of this member uses it.
        var kept = self.parkedScanners.exchange(nil)?.value
        if kept?.isUsable(for: context) != true { kept = nil }
        // Cancelled only by the lease, because the context of a finished member may be cancelled, too.
        var own = context
        own.cancellation = kept?.context.cancellation ?? BlobCancellation()
        let cancellationRegistration = context.cancellation.onCancel { [cancellation = own.cancellation] in
            cancellation.cancel()
        }
        let used =
            if let kept { kept } else {
                ParkedScanners(
                    directory: try ZipDirectory(base, own), members: try ArchiveScanner(base, own), context: own)
            }
        // Put back even if the member cannot be read.
        defer { _ = self.parkedScanners.exchange(UnsafeTransfer(used)) }
        return try body(Lease(used.directory, used.members, cancellationRegistration))
    }
}

/// The extents of all members of a zip, gathered in one pass over its directory.
///
/// The extent of a member consists of the offset of its entry, and the bounds that the other members set for its bytes.
///
/// Uses at most 32 bytes per member.
struct ZipExtents: Sendable {
    /// The members whose local headers are at the same offset.
    private struct Group {
        let startOffset: Int64
        /// The highest of the minimum ends of these and all earlier members.
        var endOffset: Int64
        /// True if the members differ, and therefore overlap.
        var isShared = false
    }

    /// The offsets of the entries, by the indices of the members.
    private(set) var recordOffsets: [Int64] = []
    /// The groups in ascending order.
    private let groups: [Group]
    private let directoryOffset: Int64

    /// The facts gathered during a pass.
    struct Builder {
        fileprivate var recordOffsets: [Int64] = []
        fileprivate var extents: [(startOffset: Int64, endOffset: Int64, hash: Int)] = []

        mutating func append(_ record: ZipRecord, at recordOffset: Int64) {
            var hasher = Hasher()
            hasher.combine(bytes: record.bytes)
            self.recordOffsets.append(recordOffset)
            self.extents.append((record.localOffset, record.minimumEndOffset, hasher.finalize()))
        }
    }

    init(_ builder: consuming Builder, before directoryOffset: Int64) {
        var groups: [Group] = []
        var hash = 0
        builder.extents.sort { $0.startOffset < $1.startOffset }
        for extent in builder.extents {
            let end = max(extent.endOffset, groups.last?.endOffset ?? 0)
            if let last = groups.last, last.startOffset == extent.startOffset {
                groups[groups.count - 1].endOffset = end
                // Identical entries represent one member.
                if extent.hash != hash { groups[groups.count - 1].isShared = true }
            } else {
                groups.append(Group(startOffset: extent.startOffset, endOffset: end))
                hash = extent.hash
            }
        }
        (self.groups, self.recordOffsets, self.directoryOffset) = (groups, builder.recordOffsets, directoryOffset)
    }

    /// True if members cannot overlap each other or the directory.
    var areDisjoint: Bool {
        zip(self.groups, self.groups.dropFirst()).allSatisfy { $0.endOffset <= $1.startOffset }
            && !self.groups.contains(where: \.isShared) && self.groups.last?.endOffset ?? 0 <= self.directoryOffset
    }

    /// Returns the bounds of the member whose local header is at an offset.
    ///
    /// - Complexity: O(log members).
    func bounds(at localOffset: Int64) -> ZipMemberBounds {
        let index = self.groups.partitioningIndex { $0.startOffset >= localOffset }
        let isKnown = index < self.groups.count && self.groups[index].startOffset == localOffset
        let next = isKnown ? index + 1 : index
        let end = index > 0 ? self.groups[index - 1].endOffset : 0
        return ZipMemberBounds(
            precedingEndOffset: isKnown && self.groups[index].isShared ? .max : end,
            nextRecordOffset: next < self.groups.count ? self.groups[next].startOffset : self.directoryOffset)
    }
}
