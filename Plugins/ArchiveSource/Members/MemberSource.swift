import BlobCore
internal import BlobIndex

/// A source of the bytes of one member of an archive.
struct MemberSource: BlobLayer {
    private let archive: Archive
    private let selector: BlobLocator.Selector
    private let catalogue: any ArchiveCatalogue
    private let pass: ArchivePass?
    /// The member and its range when it was last found, if its bytes are stored unchanged in the archive.
    private let storedMember = Locked<StoredMember?>(nil)
    private let isEncrypted = Locked(false)

    init(
        _ archive: Archive, _ selector: BlobLocator.Selector, _ catalogue: any ArchiveCatalogue, _ pass: ArchivePass?
    ) {
        (self.archive, self.selector, self.catalogue, self.pass) = (archive, selector, catalogue, pass)
    }

    /// True once the member is known to be encrypted.
    var isDecrypting: Bool { self.isEncrypted.withLock { $0 } }

    var underlying: any BlobInputStreamDataSource { self.archive.base }

    var traits: BlobTraits { self.archive.base.traits.subtracting(.neverBlocks) }

    var locator: BlobLocator? {
        (try? self.archive.base.locator?.wrapped(in: self.archive.format.rawValue))?.selecting(self.selector)
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        // A search would consume a base that can be read only once.
        guard self.archive.isRepeatable else { return BlobInfo() }
        return try self.knownMember(context)?.info ?? self.find(context, isOutsidePass: true).info
    }

    /// Returns the member that was found before; nil if a search is needed, because the archive may have changed.
    private func knownMember(_ context: BlobContext) throws(BlobError) -> StoredMember? {
        guard let stored = self.storedMember.withLock({ $0 }) else { return nil }
        // Reading a member may block, so the base may block here, too.
        return stored.isIn(try self.archive.base.info(context.blocking)) ? stored : nil
    }

    /// Forwards the hint for a member that was found before and whose bytes are stored unchanged in the archive.
    func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        guard let stored = self.storedMember.withLock({ $0 }) else { return }
        self.archive.base.slice(stored.range).prepare(ranges, context)
    }

    /// Returns the bytes of a member, starting at the offset if that costs less than decoding all bytes before it.
    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let (byteOffset, context) = (opening.byteOffset, opening.context)
        if let known = try self.knownMember(context) {
            try known.info.check(byteOffset: byteOffset, matching: opening.validator)
            return try known.makeBody(at: byteOffset, over: self.archive.base, context)
        }
        let member = try self.find(context)
        try member.info.check(byteOffset: byteOffset, matching: opening.validator)
        if byteOffset > 0, let stored = member.storedMember {
            return try stored.makeBody(at: byteOffset, over: self.archive.base, context)
        }
        // Without its index, the member is decoded from its beginning, which checks all bytes.
        return try member.makeBody(member.info, byteOffset)
    }

    /// Finds the member, ready to be read from its beginning.
    ///
    /// - Parameter isOutsidePass: True to read the member outside the current pass, if any.
    func find(_ context: BlobContext, isOutsidePass: Bool = false) throws(BlobError) -> FoundMember {
        let pass = isOutsidePass ? nil : self.pass
        let table =
            if let pass {
                try pass.table(for: self.selector, self.catalogue, context)
            } else {
                try self.archive.tables.searchedTable(self.catalogue, context)
            }
        var query = MemberQuery(selector: self.selector, isOutsidePass: isOutsidePass)
        guard let table else { return try self.search(query, context) }
        let known: MemberTable.Record
        do {
            known = try table.record(of: self.selector)
        } catch {
            return try self.findWithoutTable(context, error)
        }
        do {
            query.knownRecord = (table, known)
            return try self.search(query, context)
        } catch  where error.mayBeCausedByTable && !self.archive.tables.arePlacesVerified {
            return try self.searchAgain(after: error, context)
        }
    }

    /// Searches again without the table.
    ///
    /// Discards the table if it does not match the archive. If both searches fail with the same error, the archive is
    /// at fault, and the table is trusted from then on.
    ///
    /// Only one such search is made, because in an archive with many damaged members, a search for each would take too
    /// long.
    private func searchAgain(after error: BlobError, _ context: BlobContext) throws(BlobError) -> FoundMember {
        do throws(BlobError) {
            let found = try self.search(MemberQuery(selector: self.selector, isOutsidePass: true), context)
            self.archive.tables.discard()
            return found
        } catch let again {
            if again.code == error.code {
                self.archive.tables.markPlacesVerified()
            } else {
                self.archive.tables.discard()
            }
            throw again
        }
    }

    /// Searches without the table for a member that is missing from the table or occurs several times, because the
    /// archive may have been rewritten since.
    private func findWithoutTable(_ context: BlobContext, _ error: BlobError) throws(BlobError) -> FoundMember {
        guard error.mayBeCausedByTable, !self.archive.tables.isKnownComplete else { throw error }
        do {
            let found = try self.search(MemberQuery(selector: self.selector, isOutsidePass: true), context)
            // A table does not contain names in other encodings.
            if case .name(let name) = self.selector, found.member.name != name { return found }
            self.archive.tables.discard()
            return found
        } catch {
            // One search is enough to confirm the table.
            if error.code == .notFound { self.archive.tables.markComplete() }
            throw error
        }
    }

    private func search(_ query: MemberQuery, _ context: BlobContext) throws(BlobError) -> FoundMember {
        var found = try self.catalogue.find(query, context)
        let base = found.baseInfo
        let hasIndex = try found.indexed?.info(context).isRandomAccess ?? false
        let slash = UInt8(ascii: "/")
        let path = found.member.name[...]
        let end = path.lastIndex { $0 != slash }.map { $0 + 1 } ?? 0
        let start = path[..<end].lastIndex(of: slash).map { $0 + 1 } ?? 0
        let name = String(decoding: path[start..<end], as: UTF8.self)
        found.info = BlobInfo(
            byteCount: found.byteCount, name: name.isEmpty ? nil : name,
            validator: base.validator.map { .combined("\(self.archive.format.rawValue)#\(self.selector.text)", [$0]) },
            isRandomAccess: (found.storedRange != nil || hasIndex) && base.isRandomAccess && base.validator != nil)
        self.isEncrypted.withLock { $0 = found.member.isEncrypted }
        let stored = StoredMember(found, self.archive.format)
        self.storedMember.withLock { $0 = stored }
        found.storedMember = stored
        return found
    }
}

extension MemberSource: BlobDescribing {
    /// Returns the facts about the member: index, time, permissions, hard link target, checksum and, for a zip,
    /// compressed size.
    func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        guard self.archive.isRepeatable else { return [] }
        let found = try self.find(context, isOutsidePass: true)
        let member = found.member
        var facts: [(name: String, value: any Encodable & Sendable)] = [("member index", Int64(member.index))]
        if let time = member.modificationTime { facts.append(("modification time", time)) }
        if let permissions = member.permissions {
            facts.append(("permissions", String(permissions, radix: 8)))
        }
        if let target = member.linkTarget {
            facts.append(("hard link to", BlobMember.printable(target)))
        }
        let checksum = member.checksum ?? (self.archive.format.hasChecksums ? nil : "none in this format")
        if let checksum { facts.append(("checksum", checksum)) }
        return facts + found.facts
    }
}

extension MemberSource: BlobIndexing, IndexVerifying, RestartPointListing {
    /// Builds the index of a large deflated member, unless it exists.
    func buildIndex(_ context: BlobContext) throws -> Bool {
        try self.find(context, isOutsidePass: true).indexed?.buildIndex(context) ?? false
    }

    /// Verifies the index of a large deflated member.
    func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        try self.find(context, isOutsidePass: true).indexed?.verifyIndex(context, report: report)
    }

    /// Returns the restart points of a member: its own points, or the archive's points within its range if it is stored
    /// unchanged.
    func restartPoints(_ context: BlobContext) throws -> RestartPoints? {
        let found = try self.find(context, isOutsidePass: true)
        if let member = found.indexed { return try member.restartPoints(context) }
        guard let range = found.storedRange else { return nil }
        return try (self.underlying as? any RestartPointListing)?.restartPoints(context)?.places(in: range)
    }
}

/// A member whose bytes are stored unchanged and contiguously in the archive, and their range.
///
/// Such a member is found once, and then read at any offset as a part of the archive, as long as the content of the
/// archive is the same.
struct StoredMember: Sendable {
    let info: BlobInfo
    private let format: ArchiveFormat
    /// The range of the bytes in the base.
    let range: Range<Int64>
    /// Returns a body that verifies the checksum of the member; nil if the format, such as tar, has no checksum.
    private let makeCheckedBody: FoundMember.MakeCheckedBody?
    /// The info of the base in which the member was found.
    private let baseInfo: BlobInfo

    /// Returns nil if the base has no validator by which its content can be recognised, or ends within the member.
    init?(_ found: FoundMember, _ format: ArchiveFormat) {
        let base = found.baseInfo
        guard let range = found.storedRange, base.validator != nil, base.isRandomAccess,
            range.upperBound <= base.byteCount ?? 0, found.info.byteCount == Int64(range.count)
        else { return nil }
        (self.info, self.format, self.range, self.baseInfo) = (found.info, format, range, base)
        self.makeCheckedBody = found.makeCheckedBody
    }

    /// Returns true if a base with this info still has the content in which the member was found.
    func isIn(_ base: BlobInfo) -> Bool {
        base.validator == self.baseInfo.validator && base.statusChangeTime == self.baseInfo.statusChangeTime
    }

    /// Returns the bytes of the member from an offset on.
    ///
    /// In a zip, the checksum is verified only for a read from the beginning.
    func makeBody(
        at byteOffset: Int64, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        if let makeCheckedBody, byteOffset == 0 {
            let scanner = try ArchiveScanner(base, context)
            guard self.isIn(scanner.info) else {
                throw BlobError(.changed, "The archive changed while it was being opened.")
            }
            return try makeCheckedBody(self.info, scanner, context)
        }
        let start = self.range.lowerBound + byteOffset
        let bytes = StoredBytes(info: self.info, byteOffset: start, endOffset: self.range.upperBound) {
            guard byteOffset == 0 else { return }
            context.reportEnd(of: self.format.rawValue, byteCount: Int64(self.range.count), check: nil)
        }
        let base = try base.open(at: start, matching: self.baseInfo.validator, context: context)
        return .inspected(base, bytes, startingAt: byteOffset)
    }
}

/// Ends the bytes of an archive at the end of a member.
private struct StoredBytes: BlobInspector {
    let info: BlobInfo
    /// The offset in the archive of the next byte.
    var byteOffset: Int64
    let endOffset: Int64
    let reportEnd: () -> Void

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func readLimit() -> BlobReadLimit {
        guard self.byteOffset == self.endOffset else { return .bytes(self.endOffset - self.byteOffset) }
        self.reportEnd()
        return .end
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        guard !isLast else { throw BlobError.truncatedMemberError(at: byteOffset) }
        self.byteOffset += Int64(bytes.byteCount)
        return 0..<bytes.byteCount
    }
}
