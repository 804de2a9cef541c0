import BlobCore
import BlobPlatform

/// A search for the bytes of one member of an archive.
struct MemberSearch {
    /// A walker that is positioned at the bytes of a member.
    struct FoundEntry {
        let walker: any MemberWalker
        let entry: ArchiveEntry
        /// The selected member, which differs from ``entry`` if it is a hard link.
        let member: BlobMember
        /// The name that no later member may have; nil if no check is needed.
        var uniqueName: [UInt8]?
        /// The expected CRC-32 of the bytes; nil if libarchive verifies the bytes itself.
        var checksum: UInt32?
        /// The lease of a pass's walker, which ends when the last reference is released; nil without a pass.
        var lease: WalkerLease?
    }

    /// The maximum number of hard links in a chain; each link requires two passes over the archive.
    ///
    /// Writers create chains of one link.
    private static let maximumLinkCount = 8

    let archive: Archive
    let selector: BlobLocator.Selector
    let context: BlobContext
    /// The table of the members, if any.
    var table: MemberTable?
    /// The pass in which the member is read; nil if it is read on its own.
    var pass: ArchivePass?

    /// Opens the archive at the member.
    ///
    /// - Parameter known: The record of the member in the table; nil to search.
    func open(_ known: MemberTable.Record?) throws(BlobError) -> FoundEntry {
        let lease = try self.pass?.lend(for: known?.member.index, self.context)
        var walker: any MemberWalker
        if let lease { walker = lease.walker } else { walker = try self.makeRecordingWalker() }
        var index: Int?
        if case .index(let number) = self.selector { index = number }
        if let known {
            index = known.member.index
            self.go(walker, to: known.entryOffset, index: known.member.index)
        } else if case .name(let name) = self.selector, let headerPass = try self.headerPass(walker) {
            let unique = try self.uniqueMember(name, headerPass)
            index = unique.index
            if !self.go(walker, to: unique.entryOffset, index: unique.index) { walker = try self.makeWalker() }
        }
        guard var entry = try self.advance(walker, to: index) else { throw BlobError(notFound: self.selector) }
        if let known, entry.member.name != known.member.name { throw .staleTableError }
        let member = entry.member
        var uniqueName: [UInt8]?
        if index == nil { uniqueName = member.name }
        for _ in 0..<Self.maximumLinkCount where entry.member.kind == .hardLink && !entry.member.hasBytes {
            (walker, entry) = try self.follow(entry, unique: uniqueName)
            uniqueName = nil
        }
        if self.archive.format == .cpio, entry.member.hasBytes, entry.member.byteCount == 0, entry.linkCount > 1 {
            (walker, entry) = try self.bytesBehindLinks(of: entry, walker)
        }
        try self.checkReadable(entry)
        lease?.uniqueName = uniqueName
        return FoundEntry(
            walker: walker, entry: entry, member: member, uniqueName: uniqueName,
            lease: lease?.walker === walker ? lease : nil)
    }

    /// Returns a walker for a pass over the headers before a member is read; nil if the read itself counts the members
    /// with its name.
    private func headerPass(_ walker: any MemberWalker) throws(BlobError) -> (any MemberWalker)? {
        if !walker.isSequential { return walker }
        guard self.archive.format.endsWithData else { return nil }
        try self.checkRepeatable(
            "In a \(self.archive.format.rawValue) archive that can be read only once, select a member by its index, "
                + "as in '@0'."
        )
        return try self.makeWalker()
    }

    /// Moves a walker to a known position; returns false if the position is unknown, or the archive has no random
    /// access.
    @discardableResult
    private func go(_ walker: any MemberWalker, to place: Int64?, index: Int) -> Bool {
        guard let place, !walker.isSequential else { return false }
        walker.go(to: place, index: index)
        return true
    }

    private func makeWalker() throws(BlobError) -> any MemberWalker {
        try self.archive.walker(self.context)
    }

    private func makeRecordingWalker() throws(BlobError) -> any MemberWalker {
        try RecordingWalker(self.makeWalker(), self.archive.tables, self.context)
    }

    /// Throws an error with this message if the archive can be read only once.
    private func checkRepeatable(_ message: String) throws(BlobError) {
        guard self.archive.base.traits.contains(.repeatable) else { throw BlobError(.unsupported, message) }
    }

    /// Advances to the member with this index, or to the first member with the selected name if `index` is nil.
    private func advance(_ walker: any MemberWalker, to index: Int?) throws(BlobError) -> ArchiveEntry? {
        if let index { walker.willRead(from: index) }
        while try walker.advance() {
            if let index {
                guard walker.index == index else { continue }
                let entry = walker.entry
                if case .index = self.selector, let error = entry.incompletenessError { throw error }
                return entry
            } else if case .name(let name) = self.selector, walker.isNamed(name) {
                return walker.entry
            }
        }
        return nil
    }

    /// Returns the index and the position of the only member with this name.
    ///
    /// If damage after the member prevents the check that its name is unique, the member is read anyway.
    private func uniqueMember(_ name: [UInt8], _ walker: any MemberWalker) throws(BlobError) -> (
        index: Int, entryOffset: Int64?
    ) {
        var first: (index: Int, entryOffset: Int64?)?
        var count = 0
        walker.willRead(from: .max)
        do {
            while try walker.advance() {
                guard walker.isNamed(name) else { continue }
                first = first ?? (walker.index, walker.entryOffset)
                count += 1
            }
            if !walker.isSequential { try walker.finish() }
        } catch {
            guard first != nil, error.isAboutFormat else { throw error }
        }
        guard let first else { throw BlobError(notFound: self.selector) }
        guard count == 1 else { throw .ambiguousMemberError(name, count: count, first: first.index) }
        return first
    }

    /// Returns the target of a hard link: the last member before the link that has the target's name.
    ///
    /// An unpacked link refers to the same member.
    private func follow(
        _ link: ArchiveEntry, unique uniqueName: [UInt8]?
    ) throws(BlobError) -> (any MemberWalker, ArchiveEntry) {
        try self.checkRepeatable("This member is a hard link to an earlier one, but the archive can be read only once.")
        if let table {
            // The table also shows that the name is unique.
            let earlier = try table.records(named: link.member.linkTarget ?? [])
                .last { $0.member.index < link.member.index }
            let walker = try self.makeWalker()
            guard let earlier else { throw Self.brokenLinkError(link) }
            self.go(walker, to: earlier.entryOffset, index: earlier.member.index)
            guard let entry = try self.advance(walker, to: earlier.member.index) else {
                throw Self.brokenLinkError(link)
            }
            guard entry.member.name == link.member.linkTarget else { throw .staleTableError }
            return (walker, entry)
        }
        let target = link.member.linkTarget
        var (targetIndex, count): (Int?, Int) = (nil, 0)
        let headerPass = try self.makeWalker()
        headerPass.willRead(from: .max)
        while let entry = try headerPass.next() {
            if entry.member.index < link.member.index, entry.member.name == target { targetIndex = entry.member.index }
            if entry.member.name == uniqueName { count += 1 }
            if entry.member.index >= link.member.index, uniqueName == nil { break }
        }
        if let uniqueName, count > 1 { throw .ambiguousMemberError(uniqueName, count: count, first: link.member.index) }
        let walker = try self.makeWalker()
        guard let targetIndex, let entry = try self.advance(walker, to: targetIndex) else {
            throw Self.brokenLinkError(link)
        }
        return (walker, entry)
    }

    private static func brokenLinkError(_ link: ArchiveEntry) -> BlobError {
        BlobError(
            .corrupted,
            "This member is a hard link to '\(BlobMember.printable(link.member.linkTarget ?? []))', "
                + "but no member with that name precedes it.")
    }

    /// Returns the member that contains the bytes of a file in a cpio.
    ///
    /// If a file has several names, its bytes follow the last name. Returns the first later name with bytes, or the
    /// member itself, which is empty, if no such name follows.
    private func bytesBehindLinks(
        of entry: ArchiveEntry, _ walker: any MemberWalker
    ) throws(BlobError) -> (any MemberWalker, ArchiveEntry) {
        while let later = try walker.next() {
            if later.member.linkTarget == entry.member.name, later.member.kind == .hardLink, later.member.hasBytes {
                return (walker, later)
            }
        }
        try self.checkRepeatable("This member has hard links but no content, and the archive can be read only once.")
        let again = try self.makeWalker()
        guard let same = try self.advance(again, to: entry.member.index) else {
            throw .archiveChangedError
        }
        return (again, same)
    }

    private func checkReadable(_ entry: ArchiveEntry) throws(BlobError) {
        let member = entry.member
        guard !member.isEncrypted else {
            throw BlobError(
                .encrypted,
                "This member is encrypted, but decrypting \(self.archive.format.rawValue) archives is not supported."
            )
        }
        try member.checkKind()
        try member.checkHeader()
    }
}
