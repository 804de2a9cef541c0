import BlobCore

/// The members of a 7z, as its header lists them; where only libarchive can tell them, as it walks over them.
struct SevenZipCatalogue: ArchiveCatalogue {
    /// The maximum length of a link target in bytes: PATH_MAX of Linux.
    private static let maximumTargetByteCount = 4096

    let archive: SevenZipArchive
    /// The members as libarchive walks over them.
    let walked: any ArchiveCatalogue

    /// The facts known about the archive, if they are enough.
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
            // Libarchive does not look behind the archive, and a table stands for all that a listing finds.
            try self.archive.checkEnd(context)
            try recording?.finish()
            return
        }
        // Names that are encrypted are not written to a file, nor known without the password.
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

    func find(
        _ selector: BlobLocator.Selector, _ known: (table: MemberTable, record: MemberTable.Record)?, isAlone: Bool,
        _ context: BlobContext
    ) throws(BlobError) -> FoundMember {
        guard let directory = try self.directory(context) else {
            return try self.walked.find(selector, known, isAlone: isAlone, context)
        }
        let index: Int
        switch known.map({ BlobLocator.Selector.index($0.record.member.index) }) ?? selector {
        case .index(let number): index = number
        case .name(let name):
            let indices = directory.members.indices(named: name)
            guard indices.count <= 1 else { throw .ambiguous(name, count: indices.count, first: indices[0]) }
            index = indices.first ?? -1
        }
        guard (0..<directory.members.count).contains(index) else { throw BlobError(notFound: selector) }
        var member = directory.member(index)
        if let known, known.record.member.name != member.name {
            throw BlobError(.corrupted, "The table of members does not fit the archive.")
        }
        if member.kind == .symbolicLink { member.linkTarget = try self.target(of: index, directory, context) }
        if member.isEncrypted, context.password == nil { throw .withoutPassword("This member") }
        try ArchiveEntry(member: member, warning: nil, linkCount: 1).checkKind()
        return FoundMember(
            member: member, byteCount: member.byteCount, baseInfo: directory.info, storedRange: nil,
            makeBody: { [archive] info, byteOffset throws(BlobError) in
                let stream = try SevenZipStream(
                    archive, directory.layout, directory.info, stream: directory.layout.stream(of: index),
                    at: byteOffset, info: info, context)
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

    /// Returns the target of a symbolic link, which is its contents; nil when it is encrypted, damaged or too long.
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
