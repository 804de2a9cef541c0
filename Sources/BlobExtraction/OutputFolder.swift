package import BlobCore
import BlobPlatform
internal import CPlatform

/// A folder to which members are extracted. Nothing is written outside it, regardless of the members' names and links.
///
/// Paths are resolved beneath the folder without following symbolic links: by `openat2(2)` if the system supports it,
/// otherwise name by name. A file appears under its name when it is complete. An existing file is replaced only on
/// request; this includes a file whose name differs only in case or Unicode form, on a file system that treats both
/// names as the same.
package final class OutputFolder {
    /// The folders created, in order, with the members that describe them.
    private var folders: [(path: MemberPath, member: BlobMember?)] = []
    private var folderIndices: [MemberPath: Int] = [:]
    private var tree: FolderTree
    private var staging: StagingFolder?
    /// The paths of the folder and its parents that this object created, the topmost first.
    private let newPaths: [[UInt8]]
    private let isReplacing: Bool
    private let makesLinksRelative: Bool
    /// The files and links created.
    private var createdFiles: Set<FileIdentity> = []
    /// The hashes of the paths of these files and links.
    private var createdPathHashes: Set<Int> = []
    /// The paths of the hard links without bytes of their own, by target.
    private var links: [MemberPath: [MemberPath]] = [:]

    /// The number of folders created, including folders without a member of their own.
    package var folderCount: Int { self.folders.count }

    /// Opens the folder, and creates it and its parents if they are missing. Links in `path` are followed.
    ///
    /// - Parameters:
    ///   - isReplacing: True to replace existing files and links, but not folders.
    ///   - makesLinksRelative: True to make absolute symbolic links relative, as if the folder were the root.
    ///   - resolvesInKernel: False to resolve paths name by name on any system.
    /// - Throws: The error of the system.
    package init(
        path: [UInt8], isReplacing: Bool = false, makesLinksRelative: Bool = false, resolvesInKernel: Bool = true
    ) throws(BlobError) {
        self.newPaths = try createFolder(path, operation: "write")
        let root = try Descriptor(
            path.cString, O_RDONLY | O_DIRECTORY, doing: "Could not open the folder \(BlobMember.printable(path))",
            operation: "write")
        StagingFolder.removeLeftovers(in: root)
        self.tree = FolderTree(root, resolvesInKernel: resolvesInKernel)
        self.isReplacing = isReplacing
        self.makesLinksRelative = makesLinksRelative
    }

    /// Returns the reason why a member is never extracted, regardless of the folder's content; nil if it can be
    /// extracted.
    ///
    /// Rejects members that would be outside the folder or lead out of it, devices and other special files.
    ///
    /// - Parameter makesLinksRelative: True to make absolute symbolic links relative.
    package static func safetyFault(of member: BlobMember, makesLinksRelative: Bool) -> BlobError? {
        do throws(BlobError) {
            let path = try MemberPath(member.name)
            switch member.kind {
            case .special:
                throw BlobError(.unsupported, "This member is a device or another special file.")
            case .hardLink: _ = try MemberPath(member.linkTarget ?? [], isTarget: true)
            case .symbolicLink:
                if let target = member.linkTarget {
                    _ = try self.target(target, of: path, makesLinksRelative)
                }
            case .file, .directory: break
            }
            return nil
        } catch {
            return error
        }
    }

    /// Returns the target with which a symbolic link is created.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the target is not certain to be beneath the folder.
    private static func target(
        _ target: [UInt8], of path: MemberPath, _ makesLinksRelative: Bool
    ) throws(BlobError) -> [UInt8] {
        if makesLinksRelative, let relative = path.relativeTarget(target) { return relative }
        guard path.isLinkBeneath(target) else {
            throw BlobError(
                .unsupported, "This symbolic link to '\(BlobMember.printable(target))' may lead out of the folder.")
        }
        return target
    }

    /// Creates a folder, unless it exists. ``finish()`` sets the time and permissions of a new folder.
    package func makeFolder(_ member: BlobMember) throws(BlobError) {
        let path = try Self.path(of: member)
        guard !path.bytes.isEmpty else { return }
        let folder = try self.open(path)
        guard let number = self.folderIndices[path] else { return }
        self.folders[number].member = member
        // At once, so that a private folder is never open to others; the owner's permissions are restricted at the end.
        guard let permissions = member.permissions, let status = FileStatus(folder.rawValue) else { return }
        _ = fchmod(folder.rawValue, status.permissions & (mode_t(permissions) | 0o700) & 0o777)
    }

    /// Creates a file, which the caller writes and then passes to ``commit(_:)``. Only one file may exist at a time.
    package func makeFile(_ member: BlobMember) throws(BlobError) -> NewFile {
        let path = try Self.path(of: member)
        let parent = path.folder
        let folder = try self.open(parent)
        // Detects a conflict before the bytes are written; a folder created by this object rarely contains unknown
        // files.
        if self.folderIndices[parent] == nil || self.createdPathHashes.contains(path.hashValue) {
            try self.checkPlace(path, folder)
        }
        return try NewFile(member, path, in: folder, staging: self.openStagingFolder())
    }

    /// Gives a file its final name.
    ///
    /// A file with the bytes of a hard link replaces the link's target and earlier links to the target.
    package func commit(_ file: NewFile) throws(BlobError) {
        try file.finish()
        try self.nameStagedFile(file.path, file.folder, file.identity)
        guard file.member.kind == .hardLink, let target = try? MemberPath(file.member.linkTarget ?? []) else { return }
        for path in [target] + (self.links.removeValue(forKey: target) ?? []) where path != file.path {
            guard let folder = self.tree.find(path.folder),
                let old = self.createdFileIdentity(path.name.cString, in: folder)
            else { continue }
            try self.stageLink(to: file.path, file.folder)
            try self.nameStagedFile(path, folder, self.stagedIdentity(), replacing: old)
        }
    }

    /// Creates a symbolic link.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the target is not certain to be beneath the folder.
    package func makeSymbolicLink(_ member: BlobMember) throws(BlobError) {
        let path = try Self.path(of: member)
        guard let declared = member.linkTarget else {
            throw BlobError(.unsupported, "The target of this link cannot be read: it is damaged or encrypted.")
        }
        let target = try Self.target(declared, of: path, self.makesLinksRelative)
        let folder = try self.openFolder(of: path)
        try self.checkPlace(path, folder)
        let staging = try self.openStagingFolder()
        let name = StagingFolder.fileName
        guard symlinkat(target.cString, staging.rawValue, name) == 0 else {
            throw writeFailure("Could not create the link \(BlobMember.printable(path.bytes))")
        }
        if let times = member.times { utimensat(staging.rawValue, name, times, AT_SYMLINK_NOFOLLOW) }
        try self.nameStagedFile(path, folder, self.stagedIdentity())
    }

    /// Creates a hard link to a file that was extracted before.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` if the target is not such a file.
    package func makeHardLink(_ member: BlobMember) throws(BlobError) {
        let path = try Self.path(of: member)
        let target = try MemberPath(member.linkTarget ?? [], isTarget: true)
        guard let from = self.tree.find(target.folder), self.createdFileIdentity(target.name.cString, in: from) != nil
        else {
            throw BlobError(
                .unsupported,
                "This is a hard link to '\(BlobMember.printable(member.linkTarget ?? []))', which was not extracted.")
        }
        let folder = try self.openFolder(of: path)
        try self.checkPlace(path, folder)
        try self.stageLink(to: target, from)
        try self.nameStagedFile(path, folder, self.stagedIdentity())
        self.links[target, default: []].append(path)
    }

    /// Sets the times and permissions of the created folders, and removes incomplete files. Called once, at the end.
    package func finish() {
        self.staging = nil
        // Parent folders come last, because their permissions may close them.
        for (path, member) in self.folders.reversed() {
            guard let member, let folder = self.tree.find(path) else { continue }
            if let times = member.times { _ = futimens(folder.rawValue, times) }
            guard let permissions = member.permissions, let status = FileStatus(folder.rawValue) else { continue }
            // Permissions removed by the file mode creation mask are not added again.
            _ = fchmod(folder.rawValue, status.permissions & mode_t(permissions) & 0o777)
        }
    }

    /// Removes the folders that this object created for itself if they are empty. Called after ``finish()``.
    package func removeIfNew() { for path in self.newPaths.reversed() { rmdir(path.cString) } }

    private static func path(of member: BlobMember) throws(BlobError) -> MemberPath {
        let path = try MemberPath(member.name)
        guard !path.bytes.isEmpty || member.kind == .directory else {
            throw BlobError(.unsupported, "The name of this member refers to the folder itself.")
        }
        guard !StagingFolder.isName(path.bytes) else {
            throw BlobError(.unsupported, "The name of this member is reserved for incomplete files.")
        }
        return path
    }

    private func open(_ path: MemberPath) throws(BlobError) -> Descriptor {
        try self.tree.open(path) { made in
            self.folderIndices[made] = self.folders.count
            self.folders.append((made, nil))
        }
    }

    private func openFolder(of path: MemberPath) throws(BlobError) -> Descriptor { try self.open(path.folder) }

    private func openStagingFolder() throws(BlobError) -> Descriptor {
        let staging = if let made = self.staging { made } else { try StagingFolder(in: self.tree.root) }
        self.staging = staging
        return staging.descriptor
    }

    /// Throws if a member cannot have this name because of an existing file.
    private func checkPlace(_ path: MemberPath, _ folder: Descriptor) throws(BlobError) {
        guard let status = folder.status(of: path.name.cString) else { return }
        guard !status.isFolder else { throw Self.exists(path, "already exists and is a folder", EISDIR) }
        guard self.isReplacing else { throw Self.exists(path, "already exists; skipped", EEXIST, .overwriting) }
        guard !self.createdFiles.contains(status.identity) || self.createdPathHashes.contains(path.hashValue) else {
            throw Self.exists(path, "has the same name as another extracted member on this file system", EEXIST)
        }
    }

    private static func exists(
        _ path: MemberPath, _ fault: String, _ number: CInt, _ remedy: BlobError.Remedy? = nil
    ) -> BlobError {
        var error = BlobError(
            .io, "\(BlobMember.printable(path.bytes)) \(fault).", operation: "write", remedy: remedy)
        error.systemErrorNumber = number
        return error
    }

    /// Creates another name for a file in the staging folder, and verifies that this object created the file.
    private func stageLink(to target: MemberPath, _ folder: Descriptor) throws(BlobError) {
        let (staging, name) = (try self.openStagingFolder(), StagingFolder.fileName)
        guard linkat(folder.rawValue, target.name.cString, staging.rawValue, name, 0) == 0 else {
            throw writeFailure("Could not link to \(BlobMember.printable(target.bytes))")
        }
        guard self.createdFileIdentity(name, in: staging) != nil else {
            self.discardStagedFile()
            throw BlobError(
                .changed, "\(BlobMember.printable(target.bytes)) was replaced before the hard link was created.")
        }
    }

    /// Gives the staged file its final name.
    ///
    /// - Parameters:
    ///   - identity: The identity of the staged file.
    ///   - old: A file to replace even if `isReplacing` is false.
    private func nameStagedFile(
        _ path: MemberPath, _ folder: Descriptor, _ identity: FileIdentity?, replacing old: FileIdentity? = nil
    ) throws(BlobError) {
        var isNamed = false
        defer { if !isNamed { self.discardStagedFile() } }
        let (staging, name) = (try self.openStagingFolder(), StagingFolder.fileName)
        if self.isReplacing, old == nil { try self.checkPlace(path, folder) }
        let replaced = self.isReplacing || old != nil ? Self.identity(path.name.cString, in: folder) : nil
        guard old == nil || replaced == nil || replaced == old else {
            throw BlobError(.changed, "\(BlobMember.printable(path.bytes)) was replaced by another program.")
        }
        let new = path.name.cString
        let result =
            replaced == nil
            ? blob_rename_new(staging.rawValue, name, folder.rawValue, new)
            : renameat(staging.rawValue, name, folder.rawValue, new)
        guard result == 0 else {
            let failure = writeFailure("Could not rename the temporary file to \(BlobMember.printable(path.bytes))")
            if failure.systemErrorNumber == EEXIST { try self.checkPlace(path, folder) }
            throw failure
        }
        // If both names already refer to the same file, renaming does nothing.
        isNamed = replaced == nil || replaced != identity
        if let identity { self.createdFiles.insert(identity) }
        self.createdPathHashes.insert(path.hashValue)
    }

    private func stagedIdentity() throws(BlobError) -> FileIdentity? {
        Self.identity(StagingFolder.fileName, in: try self.openStagingFolder())
    }

    /// Returns the identity of a file that is not a folder, without following a link; nil if it is missing or a
    /// folder.
    private static func identity(_ name: UnsafePointer<CChar>, in folder: Descriptor) -> FileIdentity? {
        folder.status(of: name).flatMap { $0.isFolder ? nil : $0.identity }
    }

    /// Returns the identity of a regular file that this object created; nil for any other file.
    private func createdFileIdentity(_ name: UnsafePointer<CChar>, in folder: Descriptor) -> FileIdentity? {
        guard let status = folder.status(of: name), status.isRegular, self.createdFiles.contains(status.identity) else {
            return nil
        }
        return status.identity
    }

    /// Removes the staged file, if it still has its staging name.
    private func discardStagedFile() {
        guard let staging = self.staging else { return }
        unlinkat(staging.descriptor.rawValue, StagingFolder.fileName, 0)
    }
}
