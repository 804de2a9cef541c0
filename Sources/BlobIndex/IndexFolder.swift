internal import BlobCore
import BlobPlatform

/// A folder of index files, or of cached files of another kind, with a limit on their total size.
struct IndexFolder: Hashable, Sendable {
    static let fileExtension = "blobindex"

    let path: String
    let maximumByteCount: Int64
    /// The parent folder that must exist: a home folder is never created.
    var root = "/"
    /// The extension of the files; files with other extensions are left untouched.
    var fileExtension = IndexFolder.fileExtension

    /// Returns the folder of a policy; nil if the policy names none, or the user has no cache folder.
    static func folder(for policy: BlobIndexPolicy) -> IndexFolder? {
        switch policy.place {
        case .none, .file: nil
        case .folder(let path, let maximumByteCount): IndexFolder(path: path, maximumByteCount: maximumByteCount)
        case .automatic: Self.automatic()
        }
    }

    /// Returns the folder in the user's cache folder; nil if the user has no cache folder.
    static func automatic(_ caches: UserCacheFolder? = UserCacheFolder()) -> IndexFolder? {
        caches.map {
            IndexFolder(
                path: "\($0.path)/blob-indexes", maximumByteCount: BlobIndexPolicy.automaticMaximumByteCount,
                root: $0.root)
        }
    }

    /// Returns the name of the index file of an origin, from its 64-bit FNV-1a hash.
    ///
    /// ``IndexTable/origin`` distinguishes two origins with the same hash.
    static func fileName(origin: String) -> String {
        let hash = withUnsafeBytes(of: origin.utf8.fnv1a.bigEndian) { Array($0).hexadecimal }
        return "\(hash).\(self.fileExtension)"
    }

    /// Opens the folder; returns nil if it is missing, or not accessible to this user alone.
    ///
    /// - Throws: Errors of the disk and of the process, such as too many open files.
    func open() throws(BlobError) -> OpenIndexFolder? {
        do throws(BlobError) {
            return try OpenIndexFolder(self)
        } catch {
            guard error.isMissingOrInaccessible else { throw error }
            return nil
        }
    }

    /// Opens the folder, after creating it and missing folders above it for this user alone.
    ///
    /// - Throws: ``BlobError/Code/permissionDenied`` if it is not accessible to this user alone; errors of creating it.
    func create() throws(BlobError) -> OpenIndexFolder {
        var ends = self.path.indices.filter { self.path[$0] == "/" && $0 > self.path.startIndex }
        ends.append(self.path.endIndex)
        for end in ends {
            let folder = String(self.path[..<end])
            guard folder.count > self.root.count else { continue }
            // Only the last failure matters: parent folders may exist and belong to other users.
            if mkdir(folder, 0o700) != 0, errno != EEXIST, end == self.path.endIndex {
                var error = BlobError(systemError: errno, doing: "Could not create the folder \(folder)")
                error.operation = "write"
                throw error
            }
        }
        return try OpenIndexFolder(self)
    }
}

extension BlobError {
    /// True if a file or folder is missing, or not accessible to this user.
    fileprivate var isMissingOrInaccessible: Bool {
        self.code == .notFound || self.code == .permissionDenied || self.code == .invalidArgument
            || self.systemErrorNumber == ELOOP
    }
}

/// An open ``IndexFolder``.
///
/// Files are accessed through the descriptor, so that a link in place of the folder or of a file is never followed.
final class OpenIndexFolder {
    private let descriptor: Descriptor
    private let folder: IndexFolder

    /// Opens a folder.
    ///
    /// - Throws: ``BlobError/Code/permissionDenied`` if the folder is a link, belongs to another user, or is writable
    ///   by others; errors of opening it.
    fileprivate init(_ folder: IndexFolder) throws(BlobError) {
        self.folder = folder
        do throws(BlobError) {
            self.descriptor = try Descriptor(
                folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW, doing: "Could not open the folder \(folder.path)",
                operation: "write")
        } catch {
            // The error number for a link depends on the system.
            guard FileStatus(at: folder.path, followingLinks: false)?.type == S_IFLNK else { throw error }
            throw BlobError(.permissionDenied, "The folder \(folder.path) is a symbolic link.", operation: "write")
        }
        guard try self.descriptor.status(named: "the folder \(folder.path)").isWritableOnlyByUser else {
            throw BlobError(
                .permissionDenied,
                "The folder \(folder.path) belongs to another user or is writable by others.",
                operation: "write")
        }
    }

    /// Opens a file; returns nil if it is missing, or not a regular file that only this user may write.
    func file(_ name: String) throws(BlobError) -> IndexDescriptor? {
        do throws(BlobError) {
            let file = try IndexDescriptor(name, in: self.descriptor)
            return file.status.isRegular && file.status.isWritableOnlyByUser ? file : nil
        } catch {
            guard error.isMissingOrInaccessible else { throw error }
            return nil
        }
    }

    /// Creates a file that replaces any file of this name when it is committed.
    func newFile(_ name: String) throws(BlobError) -> AtomicFile {
        try AtomicFile(named: name, in: self.descriptor)
    }

    /// Removes a file; returns false if the file is missing.
    func remove(_ name: String) throws(BlobError) -> Bool {
        if unlinkat(self.descriptor.rawValue, name, 0) == 0 { return true }
        guard errno != ENOENT else { return false }
        throw BlobError(systemError: errno, doing: "Could not remove \(name)")
    }

    /// Removes files, least recently used first, until their total size is within the limit.
    ///
    /// Also removes temporary files of interrupted writers. Files that cannot be removed are skipped.
    ///
    /// - Parameter keptName: The name of a file that is not removed.
    func evict(keeping keptName: String) {
        for file in self.regularFiles()
        where file.name.hasPrefix(".") && file.name.containsText(".\(self.folder.fileExtension).")
            && Int64(time(nil)) - file.status.lastUse / 1_000_000_000 > Self.abandonedAge
        {
            unlinkat(self.descriptor.rawValue, file.name, 0)
        }
        let files = self.indexFiles()
        var total = files.reduce(0) { $0 + $1.status.byteCount }
        for file in files where file.name != keptName {
            guard total > self.folder.maximumByteCount else { return }
            if unlinkat(self.descriptor.rawValue, file.name, 0) == 0 { total -= file.status.byteCount }
        }
    }

    /// The files of the folder that have its extension, the least recently used first.
    func indexFiles() -> [(name: String, status: FileStatus)] {
        self.regularFiles().filter { $0.name.hasSuffix(".\(self.folder.fileExtension)") && !$0.name.hasPrefix(".") }
            .sorted { $0.status.lastUse < $1.status.lastUse }
    }

    private func regularFiles() -> [(name: String, status: FileStatus)] {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder.path)) ?? []
        return names.compactMap { name in
            self.descriptor.status(of: name).flatMap { $0.isRegular ? (name, $0) : nil }
        }
    }

    /// The age in seconds at which a temporary file is treated as abandoned: a day.
    private static let abandonedAge: Int64 = 24 * 3600
}
