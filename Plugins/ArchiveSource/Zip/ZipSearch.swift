import BlobCore

/// A search for one member of a zip, in memory that does not grow with the number of members.
struct ZipSearch {
    /// A member and the range of its bytes.
    struct Found {
        let entry: ZipEntry
        /// The range of the compressed bytes in the base, after the check of the local header.
        let data: Range<Int64>
        /// The offset of the next local header, or of the directory.
        let next: Int64
        let scanner: ArchiveScanner
        /// The member's use of the state shared in a pass; nil for a member that is read on its own.
        var lease: ZipPass.Lease?
    }

    let base: any BlobInputStreamDataSource
    let selector: BlobLocator.Selector
    let context: BlobContext
    /// The pass in which several members are read; nil to read each on its own.
    var pass: ZipPass?

    /// Finds the member, and checks its local header.
    ///
    /// - Parameters:
    ///   - known: The record in the table of the members; nil to search.
    ///   - extents: The extents of the members of the table; nil when none overlap.
    func open(
        _ known: MemberTable.Record? = nil, overlapping extents: ZipExtents? = nil
    ) throws(BlobError) -> Found {
        guard let pass else {
            let directory = try ZipDirectory(self.base, self.context)
            return try self.open(known, extents, directory, directory.scanner)
        }
        return try pass.withLease(over: self.base, self.context) { lease throws(BlobError) in
            var found: Found
            if known == nil, case .index(let index) = self.selector {
                // Members are mostly read by their indices: a search for each one would take a pass over all.
                let extents = try pass.extents(lease.directory, self.context)
                guard extents.recordOffsets.indices.contains(index) else { throw BlobError(notFound: self.selector) }
                var records = lease.directory.records(from: extents.recordOffsets[index])
                guard let record = try records.next() else { throw BlobError(notFound: self.selector) }
                found = try Self.open(
                    ZipEntry(record, index: index), within: extents.bounds(at: record.localOffset), lease.members)
            } else {
                found = try self.open(known, extents, lease.directory, lease.members)
            }
            found.lease = lease
            return found
        }
    }

    private func open(
        _ known: MemberTable.Record?, _ extents: ZipExtents?, _ directory: ZipDirectory, _ scanner: ArchiveScanner
    ) throws(BlobError) -> Found {
        if let known {
            var records = directory.records(from: known.place)
            guard let record = try records.next(), record.isNamed(known.member.name) else {
                throw BlobError(.corrupted, "The table of members does not fit the archive.")
            }
            let around =
                extents?.bounds(at: record.localOffset)
                ?? ZipMemberBounds(precedingEnd: 0, next: directory.range.lowerBound)
            return try Self.open(ZipEntry(record, index: known.member.index), within: around, scanner)
        }
        let (entry, surroundings) = try self.find(directory)
        return try Self.open(entry, within: surroundings, scanner)
    }

    /// Checks the local header of a known member.
    static func open(
        _ entry: ZipEntry, within surroundings: ZipMemberBounds, _ scanner: ArchiveScanner
    ) throws(BlobError) -> Found {
        guard entry.encryption != .unsupported else {
            throw BlobError(.encrypted, "This member is encrypted, and the method of its encryption is not supported.")
        }
        var entry = entry
        let data = try entry.locate(scanner, within: surroundings)
        guard entry.kind == .file else {
            let what =
                switch entry.kind {
                case .directory: "a directory"
                case .symbolicLink: "a symbolic link"
                case .file, .hardLink, .special: "a device or another special file"
                }
            throw BlobError(.unsupported, "This member is \(what), and has no bytes to read.")
        }
        guard entry.decrypted.compressedByteCount >= 0 else {
            throw BlobError(
                .corrupted, "The member is encrypted, and shorter than the bytes of its encryption.",
                byteOffset: data.lowerBound)
        }
        return Found(entry: entry, data: data, next: surroundings.next, scanner: scanner)
    }

    private func find(_ directory: ZipDirectory) throws(BlobError) -> (ZipEntry, ZipMemberBounds) {
        if let found = try self.find(directory, { self.means($0, $1) }) { return found }
        // Exact names come before the names that other programs show.
        guard case .name(let name) = self.selector,
            let found = try self.find(directory, { record, _ in record.isShown(as: name) })
        else { throw BlobError(notFound: self.selector) }
        return found
    }

    private func find(
        _ directory: ZipDirectory, _ means: (ZipRecord, Int) -> Bool
    ) throws(BlobError) -> (ZipEntry, ZipMemberBounds)? {
        var found: ZipEntry?
        var (count, index) = (0, 0)
        var before = Neighbours(next: directory.range.lowerBound)
        var around = Neighbours(next: directory.range.lowerBound)
        var records = directory.records()
        while let record = try records.next() {
            if let found {
                around.add(record, around: found)
                if means(record, index), !found.isSame(as: record) { count += 1 }
            } else if means(record, index) {
                found = ZipEntry(record, index: index)
                count = 1
            } else {
                before.add(record)
            }
            index += 1
            if index & 0xFFF == 0 { try self.context.check() }
        }
        try directory.checkCount(records)
        guard let found else { return nil }
        guard count == 1 else { throw .ambiguous(found.name, count: count, first: found.index) }
        // Nearly all writers list members in the order of their bytes; only otherwise is a second pass needed.
        guard before.highest < found.localOffset else {
            return (found, try self.surroundings(of: found, directory))
        }
        return (found, ZipMemberBounds(precedingEnd: max(before.end, around.end), next: around.next))
    }

    private func means(_ record: ZipRecord, _ index: Int) -> Bool {
        switch self.selector {
        case .name(let name): record.isNamed(name)
        case .index(let wanted): index == wanted
        }
    }

    private func surroundings(of entry: ZipEntry, _ directory: ZipDirectory) throws(BlobError) -> ZipMemberBounds {
        var around = Neighbours(next: directory.range.lowerBound)
        var records = directory.records()
        while let record = try records.next() {
            if !entry.isSame(as: record) { around.add(record, around: entry) }
        }
        return ZipMemberBounds(precedingEnd: around.end, next: around.next)
    }

    /// The bounds that the other members set, gathered during a pass.
    private struct Neighbours {
        /// The highest offset of a local header among the members before the one that is searched for.
        var highest: Int64 = -1
        var end: Int64 = 0
        var next: Int64

        mutating func add(_ record: ZipRecord) {
            self.highest = max(self.highest, record.localOffset)
            self.end = max(self.end, record.minimumEnd)
        }

        mutating func add(_ record: ZipRecord, around entry: ZipEntry) {
            if record.localOffset > entry.localOffset {
                self.next = min(self.next, record.localOffset)
            } else if record.localOffset < entry.localOffset || !entry.isSame(as: record) {
                // Another member at the same offset ends behind its beginning, which is reported as an overlap.
                self.end = max(self.end, record.minimumEnd)
            }
        }
    }
}
