import BlobCore

/// The state shared by the readers of one 7z: its header, which is read once per version of the content, its keys, and
/// the decoder of the last folder read.
final class SevenZipArchive: Sendable {
    private struct State {
        var info: BlobInfo?
        var layout: SevenZipLayout?
        var parkedCursor: UnsafeTransfer<SevenZipCursor>?
    }

    private let base: any BlobInputStreamDataSource
    private let isolation: ArchiveIsolation
    private let keys = SevenZipKeys()
    private let state = Locked(State())

    init(_ base: any BlobInputStreamDataSource, _ isolation: ArchiveIsolation) {
        (self.base, self.isolation) = (base, isolation)
    }

    /// Returns the layout of the archive and the info of the base; nil if only libarchive can read the header.
    ///
    /// - Throws: The errors thrown by ``SevenZipHeader/check(_:_:_:isolation:)``.
    func layout(_ context: BlobContext) throws(BlobError) -> (layout: SevenZipLayout, info: BlobInfo)? {
        let info = try self.base.info(context)
        let known = self.state.withLock { state in
            state.info.map { Self.isSame($0, info) } ?? false ? state : nil
        }
        if let known {
            guard let layout = known.layout else { return nil }
            guard let protection = layout.protection else { return (layout, info) }
            // Only readers with the password may receive the names.
            let secret = try self.keys.key(protection.encryption, of: self.base.locator, context).secret
            if secret == protection.secret { return (layout, info) }
        }
        let layout = try SevenZipHeader.check(self.base, context, self.keys, isolation: self.isolation)
        guard Self.isSame(info, try self.base.info(context)) || info.validator == nil else {
            throw .archiveChangedError
        }
        let old = self.state.exchange(State(info: info, layout: layout))
        withExtendedLifetime(old) {}
        return layout.map { ($0, info) }
    }

    /// Checks that only zeros, or the signature of a self-extracting program, follow the header.
    ///
    /// The check is skipped if the header is empty, because some writers leave it unfinished, so that its end is
    /// unknown.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` if other data follows; errors from the base.
    func checkEnd(_ context: BlobContext) throws(BlobError) {
        let scanner = try ArchiveScanner(self.base, context)
        // 7zFormat.txt, SignatureHeader: the offset of the members' header, relative to the end of this one, and its
        // length.
        let start = try scanner.bytes(at: 0, count: 32)
        let (end, overflows) = start.number64(at: 12).addingReportingOverflow(start.number64(at: 20))
        guard scanner.hasRandomAccess, !self.base.followsProgram, !overflows, start.number64(at: 20) > 0,
            end <= UInt64(max(0, (scanner.info.byteCount ?? 0) - 32))
        else { return }
        try scanner.checkEnd(of: .sevenzip, at: 32 + Int64(end), context)
    }

    private static func isSame(_ one: BlobInfo, _ other: BlobInfo) -> Bool {
        one.validator != nil && one.validator == other.validator && one.statusChangeTime == other.statusChangeTime
    }

    /// Returns a decoder positioned at or before an offset in a member: the kept decoder, if possible.
    ///
    /// - Throws: ``BlobError/Code/encrypted`` if the bytes would be decrypted with a password that no check has
    ///   confirmed.
    func cursor(
        _ layout: SevenZipLayout, _ info: BlobInfo, stream: Int, from byteOffset: Int64, _ context: BlobContext
    ) throws(BlobError) -> SevenZipCursor {
        let folder = layout.folder(ofStream: stream)
        let index = stream - layout.folders[folder].streams.lowerBound
        let parked = self.state.withLock { state -> UnsafeTransfer<SevenZipCursor>? in
            guard let known = state.info, Self.isSame(known, info), let parked = state.parkedCursor,
                parked.value.serves(context, folder: folder, index, from: byteOffset)
            else { return nil }
            state.parkedCursor = nil
            return parked  // Safe: the lock orders the hand-over, and the state no longer has the cursor.
        }
        if let cursor = parked?.value {
            cursor.begin(context)
            return cursor
        }
        let cursor = try SevenZipCursor(folder: folder, layout, in: self.base, self.isolation, self.keys, context)
        // The archive must not have changed since its header was read.
        guard try self.base.info(context).validator == info.validator else { throw .archiveChangedError }
        guard try self.needsVerification(cursor, layout, stream) else { return cursor }
        try self.verifyPassword(cursor, layout)
        return try SevenZipCursor(folder: folder, layout, in: self.base, self.isolation, self.keys, context)
    }

    /// Keeps a decoder for the next reader.
    func park(_ cursor: SevenZipCursor, _ info: BlobInfo) {
        guard cursor.end(), info.validator != nil else { return }
        let parked = UnsafeTransfer(cursor)
        self.state.withLock { state in
            if let known = state.info, Self.isSame(known, info) { state.parkedCursor = parked }
        }
    }

    /// Records that the password of a cursor is correct.
    func markVerified(_ cursor: SevenZipCursor) { self.keys.markVerified(cursor.secrets) }

    /// Returns true if the password of a cursor is known to be correct.
    func isVerified(_ cursor: SevenZipCursor) -> Bool { self.keys.areVerified(cursor.secrets) }

    /// Returns true if a wrong password could yield bytes of a stream without an error, or before the error.
    private func needsVerification(_ cursor: SevenZipCursor, _ layout: SevenZipLayout, _ stream: Int) throws(BlobError)
        -> Bool
    {
        guard !self.isVerified(cursor) else { return false }
        let refuses = (try? layout.coders(ofFolder: cursor.folder).detectsWrongKey) ?? false
        return layout.checksums[stream] == nil || !refuses
    }

    /// Verifies the password by decoding the first member in the folder that has a checksum and is not empty.
    private func verifyPassword(_ cursor: SevenZipCursor, _ layout: SevenZipLayout) throws(BlobError) {
        let streams = layout.folders[cursor.folder].streams
        guard let stream = streams.first(where: { layout.checksums[$0] != nil && layout.streamByteCounts[$0] > 0 })
        else {
            throw .unverifiablePasswordError("This member")
        }
        do throws(BlobError) {
            try cursor.go(to: stream - streams.lowerBound, .max)
        } catch  where error.isAboutFormat {
            throw .wrongPasswordError("This member", error)
        }
        self.markVerified(cursor)
    }
}

/// The members of a 7z, from its header, or from libarchive if only libarchive can read the header.
struct SevenZipCatalogue: ArchiveCatalogue {
    /// The maximum length of a link target in bytes: PATH_MAX of Linux.
    private static let maximumTargetByteCount = 4096

    let archive: SevenZipArchive
    /// The members as read by libarchive.
    let walked: any ArchiveCatalogue

    func inPass(_ pass: ArchivePass, over archive: Archive) -> any ArchiveCatalogue {
        SevenZipCatalogue(archive: self.archive, walked: self.walked.inPass(pass, over: archive))
    }

    /// The facts from the header that a listing needs.
    private struct Directory {
        let layout: SevenZipLayout
        let members: SevenZipMembers
        let info: BlobInfo

        func member(_ index: Int) -> BlobMember {
            let stream = self.layout.stream(of: index)
            return self.members.member(
                index, byteCount: stream.map { Int64(clamping: self.layout.streamByteCounts[$0]) } ?? 0,
                isEncrypted: stream.map { self.layout.folders[self.layout.folder(ofStream: $0)].isEncrypted } ?? false)
        }
    }

    private func directory(_ context: BlobContext) throws(BlobError) -> Directory? {
        guard let (layout, info) = try self.archive.layout(context), let members = layout.members,
            members.hasPlainNames || layout.folders.contains(where: \.isEncrypted)
        else { return nil }
        return Directory(layout: layout, members: members, info: info)
    }

    func forEach(
        _ context: BlobContext, _ recording: TableRecording?, _ body: (BlobMember) throws -> Bool
    ) throws {
        guard let directory = try self.directory(context) else {
            var isComplete = true
            try self.walked.forEach(context, nil) { member in
                recording?.append(member, at: nil)
                isComplete = try body(member)
                return isComplete
            }
            guard isComplete else { return }
            // libarchive ignores data after the archive, and a table must represent everything that a listing finds.
            try self.archive.checkEnd(context)
            try recording?.finish()
            return
        }
        // Encrypted names must not be written to a file, and must not be available without the password.
        let recording = directory.layout.protection == nil ? recording : nil
        for index in 0..<directory.members.count {
            if index & 0xFFF == 0 { try context.check() }
            var member = directory.member(index)
            if member.kind == .symbolicLink { member.linkTarget = try self.target(of: index, directory, context) }
            recording?.append(member, at: nil)
            guard try body(member) else { return }
        }
        try self.archive.checkEnd(context)
        try recording?.finish()
    }

    func find(_ query: MemberQuery, _ context: BlobContext) throws(BlobError) -> FoundMember {
        let known = query.knownRecord
        guard let directory = try self.directory(context) else {
            let found = try self.walked.find(query, context)
            // If the folders of the archive are known, only the member's folder is decoded.
            guard let (layout, info) = try self.archive.layout(context),
                let stream = layout.stream(of: found.member.index),
                found.byteCount == Int64(exactly: layout.streamByteCounts[stream])
            else { return found }
            return self.foundMember(found.member, stream, layout, info, context)
        }
        let index: Int
        switch known.map({ BlobLocator.Selector.index($0.record.member.index) }) ?? query.selector {
        case .index(let number): index = number
        case .name(let name):
            let indices = directory.members.indices(named: name)
            guard indices.count <= 1 else { throw .ambiguousMemberError(name, count: indices.count, first: indices[0]) }
            index = indices.first ?? -1
        }
        guard (0..<directory.members.count).contains(index) else { throw BlobError(notFound: query.selector) }
        var member = directory.member(index)
        if let known, known.record.member.name != member.name {
            throw .staleTableError
        }
        if member.kind == .symbolicLink { member.linkTarget = try self.target(of: index, directory, context) }
        if member.isEncrypted, context.password == nil { throw .missingPasswordError("This member") }
        try member.checkKind()
        return self.foundMember(member, directory.layout.stream(of: index), directory.layout, directory.info, context)
    }

    private func foundMember(
        _ member: BlobMember, _ stream: Int?, _ layout: SevenZipLayout, _ info: BlobInfo, _ context: BlobContext
    ) -> FoundMember {
        FoundMember(
            member: member, byteCount: member.byteCount, baseInfo: info, storedRange: nil,
            makeBody: { [archive] memberInfo, byteOffset throws(BlobError) in
                let stream = try SevenZipStream(
                    archive, layout, info, stream: stream, at: byteOffset, info: memberInfo, context)
                return .stream(stream, startingAt: byteOffset)
            })
    }

    func indices(of selectors: [BlobLocator.Selector], _ context: BlobContext) throws(BlobError) -> [Int]? {
        guard let directory = try self.directory(context) else { return nil }
        return selectors.map { selector in
            switch selector {
            case .index(let index): return index
            case .name(let name):
                let indices = directory.members.indices(named: name)
                return indices.count == 1 ? indices[0] : .max
            }
        }
    }

    /// Returns the target of a symbolic link, which is its content; nil if it is encrypted, damaged or too long.
    private func target(
        of index: Int, _ directory: Directory, _ context: BlobContext
    ) throws(BlobError) -> [UInt8]? {
        guard let stream = directory.layout.stream(of: index), case let layout = directory.layout,
            layout.streamByteCounts[stream] <= Self.maximumTargetByteCount
        else { return nil }
        do throws(BlobError) {
            let bytes = try SevenZipStream(
                self.archive, layout, directory.info, stream: stream, at: 0,
                info: BlobInfo(byteCount: Int64(layout.streamByteCounts[stream])), context)
            let target = try bytes.bytes(atMost: Self.maximumTargetByteCount)
            return Array(target.prefix { $0 != 0 })
        } catch  where error.isAboutFormat {
            return nil
        }
    }
}
