import BlobCore

/// A source of the bytes of one member of an archive.
struct MemberSource: BlobLayer {
    private let base: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let selector: BlobLocator.Selector
    private let tables: TableHolder
    private let pass: ArchivePass?
    /// The member where it was found last, if its bytes lie in the archive as they are.
    private let stored = Locked<StoredMember?>(nil)

    init(
        _ base: any BlobInputStreamDataSource, _ format: ArchiveFormat, _ selector: BlobLocator.Selector,
        _ tables: TableHolder, _ pass: ArchivePass? = nil
    ) {
        self.pass = pass
        self.tables = tables
        self.base = base
        self.format = format
        self.selector = selector
    }

    var underlying: any BlobInputStreamDataSource { self.base }

    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }

    var locator: BlobLocator? {
        (try? self.base.locator?.wrapped(in: self.format.rawValue))?.selecting(self.selector)
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        // A search would use up a base that can be read only once.
        guard self.base.traits.contains(.repeatable) || self.format.needsRandomAccess else { return BlobInfo() }
        return try self.known(context)?.info ?? self.find(context).info
    }

    /// Returns the member where it was found before; nil when it has to be found.
    private func known(_ context: BlobContext) throws(BlobError) -> StoredMember? {
        guard let stored = self.stored.withLock({ $0 }) else { return nil }
        return stored.isIn(try self.base.info(context)) ? stored : nil
    }

    /// Opens a member that is stored as it is at `byteOffset`; any other at its beginning, and skips to `byteOffset`.
    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        if let known = try self.known(context) {
            try known.info.check(byteOffset: byteOffset, matching: validator)
            return try known.makeReader(at: byteOffset, over: self.base, context)
        }
        let opening = try self.find(context, self.pass)
        try opening.info.check(byteOffset: byteOffset, matching: validator)
        if byteOffset > 0, let stored = opening.stored {
            return try stored.makeReader(at: byteOffset, over: self.base, context)
        }
        let reader = try opening.makeReader()
        return reader.skipping(byteOffset)
    }

    private struct Opening {
        let member: BlobMember
        let info: BlobInfo
        let stored: StoredMember?
        var facts: [(name: String, value: any Encodable & Sendable)] = []
        let makeReader: () throws(BlobError) -> any BlobReader
    }

    /// Finds the member, and the way to read it from its beginning.
    private func find(_ context: BlobContext, _ pass: ArchivePass? = nil) throws(BlobError) -> Opening {
        let listing = ArchiveListing(base: self.base, format: self.format, context: context)
        let table: MemberTable?
        if let pass {
            table = try pass.table(for: self.selector, listing)
        } else {
            table = try self.tables.searchedTable(listing)
        }
        guard let table else { return try self.find(context, nil, nil, pass) }
        let known: MemberTable.Record
        do {
            known = try table.record(of: self.selector)
        } catch {
            return try self.findWithoutTable(context, error, pass)
        }
        do {
            return try self.find(context, table, known, pass)
        } catch  where error.mayBeCausedByTable {
            self.tables.discard()
            return try self.find(context, nil, nil, nil)
        }
    }

    /// Searches without the table for a member that is not in it, or is in it several times, because the archive may
    /// have been rewritten since.
    private func findWithoutTable(
        _ context: BlobContext, _ error: BlobError, _ pass: ArchivePass?
    ) throws(BlobError) -> Opening {
        guard error.mayBeCausedByTable, !self.tables.isConfirmed else { throw error }
        do {
            let opening = try self.find(context, nil, nil, nil)
            // A table does not have names in other encodings.
            if case .name(let name) = self.selector, opening.member.name != name { return opening }
            self.tables.discard()
            return opening
        } catch {
            // One search is enough to confirm the table.
            if error.code == .notFound { self.tables.confirm() }
            throw error
        }
    }

    private func find(
        _ context: BlobContext, _ table: MemberTable?, _ known: MemberTable.Record?, _ pass: ArchivePass?
    ) throws(BlobError) -> Opening {
        if self.format == .zip {
            let found = try ZipSearch(base: self.base, selector: self.selector, context: context).open(known)
            let entry = found.entry
            let isStored = entry.method == ZipReader.Method.stored.rawValue
            let info = self.info(
                name: entry.name, byteCount: entry.byteCount, over: found.scanner.info,
                isStored: isStored && entry.byteCount == entry.compressedByteCount)
            let stored =
                info.isRandomAccess
                ? StoredMember(entry.member, info, at: found.data, in: found.scanner.info, zipEntry: entry) : nil
            self.stored.withLock { $0 = stored }
            let size = ("compressed size in bytes", entry.compressedByteCount)
            return Opening(member: entry.member, info: info, stored: stored, facts: [size]) { () throws(BlobError) in
                try found.makeReader(info, over: self.base, context)
            }
        }
        let search = MemberSearch(
            base: self.base, format: self.format, selector: self.selector, context: context, table: table,
            tables: self.tables, pass: pass)
        let found = try search.open(known)
        let range = found.walker.storedRange
        let info = self.info(
            name: found.member.name, byteCount: found.entry.member.byteCount, over: found.walker.baseInfo,
            isStored: range != nil)
        let stored = range.flatMap { StoredMember(found.member, info, at: $0, in: found.walker.baseInfo) }
        self.stored.withLock { $0 = stored }
        return Opening(member: found.member, info: info, stored: stored) { () throws(BlobError) in
            MemberReader(found, info: info, format: self.format)
        }
    }

    /// - Parameter isStored: True when the bytes of the member lie in the base as they are.
    private func info(name: [UInt8], byteCount: Int64?, over base: BlobInfo, isStored: Bool) -> BlobInfo {
        let name = String(decoding: name.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        return BlobInfo(
            byteCount: byteCount, name: name.isEmpty ? nil : name,
            validator: base.validator.map { .combined("\(self.format.rawValue)#\(self.selector.text)", [$0]) },
            isRandomAccess: isStored && base.isRandomAccess && base.validator != nil)
    }
}

extension MemberSource: BlobDescribing {
    /// Returns the facts about the member: index, time, permissions, target of a hard link, checksum and, for a zip,
    /// compressed size.
    func facts(_ context: BlobContext) throws -> [(name: String, value: any Encodable & Sendable)] {
        guard self.base.traits.contains(.repeatable) || self.format.needsRandomAccess else { return [] }
        let opening = try self.find(context)
        let member = opening.member
        var facts: [(name: String, value: any Encodable & Sendable)] = [("index", Int64(member.index))]
        if let time = member.modificationTime { facts.append(("modification time", time)) }
        if let permissions = member.permissions {
            facts.append(("permissions", String(permissions, radix: 8)))
        }
        if let target = member.linkTarget {
            facts.append(("hard link to", BlobMember.printable(target)))
        }
        let checksum = member.checksum ?? (self.format.hasChecksums ? nil : "none in this format")
        if let checksum { facts.append(("checksum", checksum)) }
        return facts + opening.facts
    }
}
