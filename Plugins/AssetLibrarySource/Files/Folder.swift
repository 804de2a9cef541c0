#if Photos
import BlobCore
import CPlatform
import Foundation

/// An open folder. Names are looked up in it and nowhere else, and links in it are never followed.
final class Folder {
    /// The path of the folder, for error messages only.
    let path: String
    private let descriptor: CInt

    /// Opens the folder at `path`, following links.
    convenience init(_ path: String) throws(BlobError) {
        try self.init(uninterrupted { open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC) }, path)
    }

    private init(_ descriptor: CInt, _ path: String) throws(BlobError) {
        guard descriptor >= 0 else {
            if errno == ENOTDIR || errno == ELOOP {
                throw BlobError(.unsupported, "A link or a file lies in the place of the folder \(path).")
            }
            throw BlobError(systemError: errno, doing: "Could not open the folder \(path)")
        }
        self.descriptor = descriptor
        self.path = path
    }

    deinit { close(self.descriptor) }

    /// Opens a folder in this one.
    ///
    /// - Throws: ``BlobError/Code/notFound``; ``BlobError/Code/unsupported`` for a link or a file.
    func folder(named name: String) throws(BlobError) -> Folder {
        let descriptor = uninterrupted {
            openat(self.descriptor, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC)
        }
        return try Folder(descriptor, "\(self.path)/\(name)")
    }

    /// Opens a folder in this one, after creating it if it is missing.
    func makeFolder(named name: String) throws(BlobError) -> Folder {
        guard mkdirat(self.descriptor, name, 0o777) == 0 || errno == EEXIST else {
            throw self.failure("Could not make the folder", name)
        }
        return try self.folder(named: name)
    }

    /// The flags of ``openFile(named:_:)`` for a new file, whose name must not exist.
    static let new = O_RDWR | O_CREAT | O_EXCL

    /// Opens a file, or creates it with `O_CREAT`, and returns its descriptor.
    func openFile(named name: String, _ flags: CInt = O_RDONLY) throws(BlobError) -> CInt {
        let file = uninterrupted { openat(self.descriptor, name, flags | O_NOFOLLOW | O_CLOEXEC, 0o644) }
        guard file >= 0 else { throw self.failure("Could not open or create", name) }
        return file
    }

    /// Gives the name of a file to another file of this folder, and synchronises the folder.
    func replaceFile(named name: String, by other: String) throws(BlobError) {
        guard renameat(self.descriptor, other, self.descriptor, name) == 0 else {
            throw self.failure("Could not replace", name)
        }
        try self.synchronise()
    }

    /// Returns the status of a file or a folder, without following a link; nil when there is none.
    func status(of name: String) -> FileSnapshot? {
        var status = stat()
        return fstatat(self.descriptor, name, &status, AT_SYMLINK_NOFOLLOW) == 0 ? FileSnapshot(status) : nil
    }

    /// Returns true when a regular file has this name.
    func hasFile(named name: String) -> Bool { self.status(of: name)?.isRegular == true }

    /// Removes a file, if it exists.
    func removeFile(named name: String) throws(BlobError) {
        guard unlinkat(self.descriptor, name, 0) == 0 || errno == ENOENT else {
            throw self.failure("Could not remove", name)
        }
    }

    /// Moves a file to another folder and name.
    ///
    /// - Returns: False when the new name exists already; nothing is changed then.
    func moveFile(named name: String, to folder: Folder, as newName: String) throws(BlobError) -> Bool {
        if blob_rename_new(self.descriptor, name, folder.descriptor, newName) == 0 { return true }
        guard errno == EEXIST else { throw self.failure("Could not move to \(folder.path)", name) }
        return false
    }

    /// Returns all names but those that are not UTF-8, which this library never creates.
    func names() throws(BlobError) -> [String] {
        // A new descriptor, because duplicates share the read position.
        let descriptor = uninterrupted { openat(self.descriptor, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
        guard descriptor >= 0, let stream = fdopendir(descriptor) else {
            let error = self.failure("Could not read", ".")
            if descriptor >= 0 { close(descriptor) }
            throw error
        }
        defer { closedir(stream) }
        var names: [String] = []
        while true {
            errno = 0
            guard let entry = readdir(stream) else { break }
            let name = withUnsafeBytes(of: &entry.pointee.d_name) { bytes in
                String(validating: bytes.prefix { $0 != 0 }, as: UTF8.self)
            }
            if let name, name != ".", name != ".." { names.append(name) }
        }
        guard errno == 0 else { throw self.failure("Could not read", ".") }
        return names
    }

    /// Synchronises the folder to the disk, so that the names in it survive a loss of power.
    func synchronise() throws(BlobError) {
        // Some file systems do not support it for folders, and fail with EINVAL.
        guard uninterrupted({ fsync(self.descriptor) }) == 0 || errno == EINVAL else {
            throw BlobError(systemError: errno, doing: "Could not synchronise \(self.path)")
        }
    }

    private func failure(_ act: String, _ name: String) -> BlobError {
        BlobError(systemError: errno, doing: "\(act) \(self.path)/\(name)")
    }
}

/// Synchronises an open file to the disk, so that its bytes survive a loss of power.
func synchronise(_ descriptor: CInt, named path: String) throws(BlobError) {
    guard uninterrupted({ fsync(descriptor) }) == 0 else {
        throw BlobError(systemError: errno, doing: "Could not synchronise \(path)")
    }
}

/// Returns a path without links, as bytes; nil when nothing is there.
func resolvedPath(_ path: [UInt8]) -> [UInt8]? {
    guard let resolved = realpath(path.map { CChar(bitPattern: $0) } + [0], nil) else { return nil }
    defer { free(resolved) }
    return Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
}
#endif
