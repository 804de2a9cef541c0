#if Command
import BlobExtraction
import BlobPlatform
import BlobStreamsStandard

/// Extracts the members of one archive to a folder, and records their errors.
final class Extractor {
    let output = MemberOutput()
    private let archive: BlobLocator
    /// The folder; nil to print only the names of members.
    private let folder: OutputFolder?
    private let globs: [(text: String, pattern: MemberPattern)]
    private var usedGlobs: Set<Int> = []
    /// The first member names, searched for a suggestion if no member matches an exact name.
    private var names: [String] = []
    private let excluded: [MemberPattern]
    private let strippedCount: Int
    private let makesLinksRelative: Bool
    private let maximumCount: Int
    private let endsAtError: Bool
    private var count = 0

    /// The maximum number of skipped members that are reported individually.
    private static let maximumReportCount = 20

    /// The errors for the first members skipped for safety; `skippedCount` counts all of them.
    private var skippedErrors: [BlobError] = []
    private(set) var skippedCount = 0

    /// The first error of a member; nil if no member failed.
    private(set) var firstError: BlobError?
    private var lastMessage: String?

    /// - Parameters:
    ///   - globs: The patterns that select members, and everything in a selected folder; an empty array selects all
    ///     members.
    ///   - excluded: The patterns of members that are not selected, as everything in such a folder.
    ///   - strippedCount: The number of leading folders to remove from names; see ``BlobMember/droppingFolders(_:)``.
    ///   - makesLinksRelative: True to make absolute symbolic links relative.
    ///   - maximumCount: The maximum number of selected members, and of created folders.
    ///   - endsAtError: True to throw the first error of a member.
    init(
        _ archive: BlobLocator, _ folder: OutputFolder?, _ globs: [String], excluding excluded: [String],
        strippedCount: Int, makesLinksRelative: Bool, maximumCount: Int, endsAtError: Bool
    ) {
        self.archive = archive
        self.folder = folder
        let pattern = { (glob: String) in MemberPattern(glob.hasSuffix("/") ? glob.dropLast() : glob[...]) }
        self.globs = globs.map { ($0, pattern($0)) }
        (self.excluded, self.strippedCount) = (excluded.map(pattern), strippedCount)
        self.makesLinksRelative = makesLinksRelative
        self.maximumCount = maximumCount
        self.endsAtError = endsAtError
    }

    /// Extracts a member if it is selected, and prints its name if `-v` is set.
    ///
    /// - Throws: Errors that affect all members, such as a limit or a full disk. Other errors are only reported.
    func extract(
        _ member: BlobMember, _ source: any BlobInputStreamDataSource, _ copier: Copier
    ) throws {
        guard self.isSelected(member), let renamed = member.droppingFolders(self.strippedCount) else { return }
        self.count += 1
        do {
            try self.checkCount()
            if let fault = self.safetyFault(of: renamed), !self.endsAtError || self.folder == nil {
                return self.skip(member, fault)
            }
            if Verbosity.isVerbose || self.folder == nil {
                // The progress line may be on the same terminal.
                copier.finish()
                try printLine(renamed.printableName)
            }
            if let folder { try self.make(renamed, in: folder, source, copier) }
            // A single member may need many folders.
            try self.checkCount()
        } catch {
            let error = self.naming(member, BlobError(wrapping: error))
            self.lastMessage = error.message
            if self.endsAtError || error.concernsAllMembers { throw error }
            copier.finish()
            report(error)
            self.firstError = self.firstError ?? error
        }
    }

    private func skip(_ member: BlobMember, _ fault: BlobError) {
        self.skippedCount += 1
        if self.skippedErrors.count < Self.maximumReportCount { self.skippedErrors.append(self.naming(member, fault)) }
    }

    /// Returns an error with the name of the member in place of its index in the archive.
    private func naming(_ member: BlobMember, _ error: BlobError) -> BlobError {
        var error = error
        error.locator = self.archive.selecting(.name(member.name)).description
        return error
    }

    /// Reports the skipped members after the extraction.
    func reportSkipped() {
        guard self.skippedCount > 0 else { return }
        for fault in self.skippedErrors { report(fault) }
        let what = self.skippedCount == 1 ? "1 member was" : "\(self.skippedCount) members were"
        let hasOthers = self.skippedCount > self.skippedErrors.count
        let others = hasOthers ? "; the first \(self.skippedErrors.count) are listed above" : ""
        ProgressLine.printError("blob: \(what) skipped for safety\(others).\n")
    }

    /// Returns true for an archive error that was already reported as the error of its last member.
    func hasReported(_ error: BlobError) -> Bool { error.message == self.lastMessage }

    private func checkCount() throws(BlobError) {
        guard max(self.count, self.folder?.folderCount ?? 0) <= self.maximumCount else {
            throw BlobError(
                .limitExceeded, "There are more members or folders than the limit of \(self.maximumCount).")
        }
    }

    /// Returns true if a pattern selects the member, and marks the matching patterns as used.
    func isSelected(_ member: BlobMember) -> Bool {
        guard !self.excluded.contains(where: { $0.matches(member.name, orItsFolder: true) }) else { return false }
        guard !self.globs.isEmpty else { return true }
        if self.names.count < NamedMemberSource.maximumNameCount,
            self.globs.contains(where: { !$0.pattern.hasWildcard })
        {
            self.names.append(member.printableName)
        }
        let numbers = self.globs.indices.filter { self.globs[$0].pattern.matches(member.name, orItsFolder: true) }
        self.usedGlobs.formUnion(numbers)
        return !numbers.isEmpty
    }

    private func safetyFault(of member: BlobMember) -> BlobError? {
        OutputFolder.safetyFault(of: member, makesLinksRelative: self.makesLinksRelative)
    }

    private func make(
        _ member: BlobMember, in folder: OutputFolder, _ source: any BlobInputStreamDataSource, _ copier: Copier
    ) throws {
        try member.checkHeader()
        switch member.kind {
        case .directory: try folder.makeFolder(member)
        case .symbolicLink: try folder.makeSymbolicLink(member)
        case .hardLink where member.byteCount ?? 0 == 0: try folder.makeHardLink(member)
        case .special:
            throw self.safetyFault(of: member) ?? BlobError(.unsupported, "The member is a special file.")
        case .file, .hardLink:
            let file = try folder.makeFile(member)
            defer { file.discard() }
            // An empty member without a checksum leaves nothing to check. In a cpio archive, a later hard link holds
            // the content.
            if member.byteCount != 0 || member.checksum != nil || member.isEncrypted {
                self.output.file = file
                try copier.copy(source, matching: nil)
            }
            try folder.commit(file)
        }
    }

    /// Reports the patterns that selected no member.
    func reportUnusedGlobs() {
        for (number, glob) in self.globs.enumerated() where !self.usedGlobs.contains(number) {
            let hasName = !glob.pattern.hasWildcard && number < NamedMemberSource.maximumSuggestionCount
            let name = hasName ? Suggestion.nearest(to: glob.text, among: self.names) : nil
            let advice = name.map { " Did you mean '\($0)'?" } ?? glob.pattern.advice
            let error = BlobError(
                .notFound, "No member matches '\(printable(glob.text))'.\(advice)", operation: "read",
                locator: self.archive.description)
            report(error)
            self.firstError = self.firstError ?? error
        }
    }
}

/// The output for the member being extracted.
final class MemberOutput: ByteOutput {
    var file: NewFile?

    func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) { try self.file?.write(bytes) }
}

extension BlobMember {
    /// Returns the member without the first names of its path and of the target of a hard link, as tar(1) does; nil if
    /// no name remains.
    fileprivate func droppingFolders(_ count: Int) -> BlobMember? {
        guard count > 0 else { return self }
        let rest = { (path: [UInt8]) in Array(path.split(separator: 0x2F).dropFirst(count).joined(separator: [0x2F])) }
        var member = self
        member.name = rest(self.name)
        if self.kind == .hardLink { member.linkTarget = self.linkTarget.map(rest) }
        return member.name.isEmpty ? nil : member
    }
}

extension BlobError {
    /// True for an error after which no other member can or should be extracted.
    fileprivate var concernsAllMembers: Bool {
        switch self.code {
        case .cancelled, .limitExceeded: true
        default: self.systemErrorNumber.map([ENOSPC, EDQUOT, EROFS, EIO].contains) ?? false
        }
    }
}
#endif
