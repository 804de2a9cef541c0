import BlobCore

/// A source of the bytes of one member of an archive.
struct MemberSource: BlobLayer {
    private let base: any BlobInputStreamDataSource
    private let format: ArchiveFormat
    private let selector: BlobLocator.Selector
    private let tables: TableHolder

    init(
        _ base: any BlobInputStreamDataSource, _ format: ArchiveFormat, _ selector: BlobLocator.Selector,
        _ tables: TableHolder
    ) {
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
        return try self.find(context).info
    }

    /// Opens the member, and skips to `byteOffset` from its beginning.
    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let opening = try self.find(context)
        try opening.info.check(byteOffset: byteOffset, matching: validator)
        let reader = try opening.makeReader()
        return reader.skipping(byteOffset)
    }

    private struct Opening {
        let member: BlobMember
        let info: BlobInfo
        var facts: [(name: String, value: any Encodable & Sendable)] = []
        let makeReader: () throws(BlobError) -> any BlobReader
    }

    /// Finds the member, and the way to read it from its beginning.
    private func find(_ context: BlobContext) throws(BlobError) -> Opening {
        let listing = ArchiveListing(base: self.base, format: self.format, context: context)
        guard let table = try self.tables.searchedTable(listing) else { return try self.find(context, nil, nil) }
        let known: MemberTable.Record
        do {
            known = try table.record(of: self.selector)
        } catch {
            return try self.findWithoutTable(context, error)
        }
        do {
            return try self.find(context, table, known)
        } catch  where error.mayBeCausedByTable {
            self.tables.discard()
            return try self.find(context, nil, nil)
        }
    }

    /// Searches without the table for a member that is not in it, or is in it several times, because the archive may
    /// have been rewritten since.
    private func findWithoutTable(_ context: BlobContext, _ error: BlobError) throws(BlobError) -> Opening {
        guard error.mayBeCausedByTable, !self.tables.isConfirmed else { throw error }
        do {
            let opening = try self.find(context, nil, nil)
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
        _ context: BlobContext, _ table: MemberTable?, _ known: MemberTable.Record?
    ) throws(BlobError) -> Opening {
        if self.format == .zip {
            let found = try ZipSearch(base: self.base, selector: self.selector, context: context).open(known)
            let info = self.info(
                name: found.entry.name, byteCount: found.entry.byteCount, found.scanner.info.validator)
            let size = ("compressed size in bytes", found.entry.compressedByteCount)
            return Opening(member: found.entry.member, info: info, facts: [size]) { () throws(BlobError) in
                try found.makeReader(info, over: self.base, context)
            }
        }
        let search = MemberSearch(
            base: self.base, format: self.format, selector: self.selector, context: context, table: table)
        let found = try search.open(known)
        let info = self.info(
            name: found.member.name, byteCount: found.entry.member.byteCount, found.walker.baseInfo.validator)
        return Opening(member: found.member, info: info) { () throws(BlobError) in
            MemberReader(found, info: info, format: self.format)
        }
    }

    private func info(name: [UInt8], byteCount: Int64?, _ validator: BlobValidator?) -> BlobInfo {
        let name = String(decoding: name.split(separator: UInt8(ascii: "/")).last ?? [], as: UTF8.self)
        return BlobInfo(
            byteCount: byteCount, name: name.isEmpty ? nil : name,
            validator: validator.map { .combined("\(self.format.rawValue)#\(self.selector.text)", [$0]) })
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
