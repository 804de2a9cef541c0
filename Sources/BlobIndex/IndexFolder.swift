internal import BlobStreams
import Foundation

/// The folder of many index files, bounded in size.
struct IndexFolder: Hashable, Sendable {
    static let fileExtension = "blobindex"

    let path: String
    let maximumByteCount: Int64
    /// The folder above that has to be there: a home is never made.
    var root = "/"

    /// The folder in the user's folder for caches; nil when there is no such folder.
    static func automatic(_ variable: (String) -> String?) -> IndexFolder? {
        guard let caches = userCacheFolder(variable) else { return nil }
        return IndexFolder(
            path: "\(caches.path)/blob-indexes", maximumByteCount: BlobIndexPolicy.automaticMaximumByteCount,
            root: caches.root)
    }

    /// The name of the index of everything over one origin: a 128-bit FNV-1a hash. Two origins with the same hash are told
    /// apart by what the file says.
    static func fileName(origin: String) -> String {
        var hash = FNV1a()
        hash.update(origin.utf8)
        return "\(hash.hexadecimal).\(self.fileExtension)"
    }

    /// Opens the folder; nil when there is none that can be used.
    ///
    /// - Throws: An error of the disk or of the process; not that there is no folder, or that it is somebody else's.
    func open() throws(BlobError) -> OpenIndexFolder? {
        do throws(BlobError) {
            return try OpenIndexFolder(self)
        } catch {
            guard error.isAboutAccess else { throw error }
            return nil
        }
    }

    /// Opens the folder, and makes it and those above it before, for this user alone.
    ///
    /// - Throws: ``BlobError/Code/permissionDenied`` when it is not this user's alone, and what making it brings.
    func create() throws(BlobError) -> OpenIndexFolder {
        var ends = self.path.indices.filter { self.path[$0] == "/" && $0 > self.path.startIndex }
        ends.append(self.path.endIndex)
        for end in ends {
            let folder = String(self.path[..<end])
            guard folder.count > self.root.count else { continue }
            // Only the last one's failure counts: what is above may be there and not be ours.
            if mkdir(folder, 0o700) != 0, errno != EEXIST, end == self.path.endIndex {
                var error = BlobError(systemError: errno, doing: "Could not make the folder \(folder)")
                error.operation = .write
                throw error
            }
        }
        return try OpenIndexFolder(self)
    }
}

extension BlobError {
    /// Whether it says that there is nothing, or nothing for this user.
    fileprivate var isAboutAccess: Bool {
        self.code == .notFound || self.code == .permissionDenied || self.code == .invalidArgument
            || self.systemErrorNumber == ELOOP
    }
}

/// A folder of index files, open: all that is in it is reached through its descriptor, so that no link in the place of
/// the folder or a file leads elsewhere.
final class OpenIndexFolder {
    private let descriptor: CInt
    private let folder: IndexFolder

    /// - Throws: ``BlobError/Code/permissionDenied`` when the folder is a link, belongs to another user, or may be written
    ///   to by others; and what opening brings.
    fileprivate init(_ folder: IndexFolder) throws(BlobError) {
        let descriptor = Foundation.open(folder.path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        guard descriptor >= 0 else {
            // Which of the two a link gives depends on the system.
            let isLink = errno == ELOOP || errno == ENOTDIR && isLink(folder.path)
            var error =
                isLink
                ? BlobError(.permissionDenied, "The folder \(folder.path) for indexes is a link.")
                : BlobError(systemError: errno, doing: "Could not open the folder \(folder.path)")
            error.operation = .write
            throw error
        }
        self.descriptor = descriptor
        self.folder = folder
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not look at the folder \(folder.path)")
        }
        guard status.st_uid == geteuid(), status.st_mode & (S_IWGRP | S_IWOTH) == 0 else {
            throw BlobError(
                .permissionDenied,
                "The folder \(folder.path) for indexes belongs to another user, or others may write to it.",
                operation: .write)
        }
    }

    deinit { close(self.descriptor) }

    /// Opens an index file; nil when there is none that can be used.
    func file(_ name: String) throws(BlobError) -> IndexDescriptor? {
        do throws(BlobError) {
            let file = try IndexDescriptor(named: name, in: self.descriptor)
            return file.isRegular && file.isOwn && file.status.st_mode & (S_IWGRP | S_IWOTH) == 0 ? file : nil
        } catch {
            guard error.isAboutAccess else { throw error }
            return nil
        }
    }

    /// Begins a file that takes the place of whatever has the name.
    func newFile(_ name: String) throws(BlobError) -> AtomicFile {
        try AtomicFile(named: name, in: self.descriptor)
    }

    /// Removes a file; false when there is none.
    func remove(_ name: String) throws(BlobError) -> Bool {
        if unlinkat(self.descriptor, name, 0) == 0 { return true }
        guard errno != ENOENT else { return false }
        throw BlobError(systemError: errno, doing: "Could not remove \(name)")
    }

    /// Removes index files, least recently used first, until all together are within the bound, and what writers left
    /// behind that ended in the middle. What cannot be removed stays.
    ///
    /// - Parameter keptName: Is not removed.
    func removeSurplus(keeping keptName: String) {
        let names = (try? FileManager.default.contentsOfDirectory(atPath: self.folder.path)) ?? []
        var files: [(name: String, byteCount: Int64, lastUse: timespec)] = []
        for name in names {
            var status = stat()
            guard fstatat(self.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0, status.st_mode & S_IFMT == S_IFREG
            else { continue }
            if name.hasSuffix(".\(IndexFolder.fileExtension)") {
                files.append((name, Int64(status.st_size), status.lastUse))
            } else if name.hasPrefix("."), name.contains(".\(IndexFolder.fileExtension)."),
                time(nil) - status.lastUse.tv_sec > Self.longestWriting
            {
                unlinkat(self.descriptor, name, 0)
            }
        }
        var total = files.reduce(0) { $0 + $1.byteCount }
        files.sort { ($0.lastUse.tv_sec, $0.lastUse.tv_nsec) < ($1.lastUse.tv_sec, $1.lastUse.tv_nsec) }
        for file in files where file.name != keptName {
            guard total > self.folder.maximumByteCount else { return }
            if unlinkat(self.descriptor, file.name, 0) == 0 { total -= file.byteCount }
        }
    }

    /// In seconds: a day. A temporary file that is older belongs to nobody.
    private static let longestWriting = 24 * 3600
}

private func isLink(_ path: String) -> Bool {
    var status = stat()
    return lstat(path, &status) == 0 && status.st_mode & S_IFMT == S_IFLNK
}
