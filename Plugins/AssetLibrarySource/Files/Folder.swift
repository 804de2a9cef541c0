#if Photos
import BlobCore
import BlobPlatform
import CPlatform
import Foundation

/// An open folder, in which names are looked up without following links.
final class Folder {
    /// The path of the folder, for error messages only.
    let path: String
    private let descriptor: Descriptor

    /// Opens the folder at `path`, following links.
    convenience init(_ path: String) throws(BlobError) {
        try self.init(path, in: AT_FDCWD, path: path)
    }

    private init(_ name: String, _ flags: CInt = 0, in folder: CInt, path: String) throws(BlobError) {
        do throws(BlobError) {
            self.descriptor = try Descriptor(
                name, O_RDONLY | O_DIRECTORY | flags, in: folder, doing: "Could not open the folder \(path)")
        } catch {
            guard error.systemErrorNumber == ENOTDIR || error.systemErrorNumber == ELOOP else { throw error }
            throw BlobError(.unsupported, "\(path) is a symbolic link or a file, not a folder.")
        }
        self.path = path
    }

    /// Opens a folder in this folder.
    ///
    /// - Throws: ``BlobError/Code/notFound`` if the folder does not exist; ``BlobError/Code/unsupported`` for a link or
    ///   a file.
    func folder(named name: String) throws(BlobError) -> Folder {
        try Folder(name, O_NOFOLLOW, in: self.descriptor.rawValue, path: "\(self.path)/\(name)")
    }

    /// Opens a folder in this folder, creating it if it does not exist.
    func makeFolder(named name: String) throws(BlobError) -> Folder {
        guard mkdirat(self.descriptor.rawValue, name, 0o777) == 0 || errno == EEXIST else {
            throw self.failure("Could not create the folder", name)
        }
        return try self.folder(named: name)
    }

    /// The flags of ``openFile(named:_:)`` for a new file, whose name must not exist.
    static let creationFlags = O_RDWR | O_CREAT | O_EXCL

    /// Opens a file; with the flag `O_CREAT`, creates it if it does not exist.
    func openFile(named name: String, _ flags: CInt = O_RDONLY) throws(BlobError) -> Descriptor {
        try Descriptor(
            name, flags | O_NOFOLLOW, permissions: 0o644, in: self.descriptor.rawValue,
            doing: "Could not open or create \(self.path)/\(name)")
    }

    /// Replaces a file with another file of this folder, and synchronises the folder.
    func replaceFile(named name: String, by other: String) throws(BlobError) {
        guard renameat(self.descriptor.rawValue, other, self.descriptor.rawValue, name) == 0 else {
            throw self.failure("Could not replace", name)
        }
        try self.synchronise()
    }

    /// Returns the status of a file or a folder, without following links; nil if not found.
    func status(of name: String) -> FileStatus? { self.descriptor.status(of: name) }

    /// Returns true if a regular file has this name.
    func hasFile(named name: String) -> Bool { self.status(of: name)?.isRegular == true }

    /// Removes a file, if it exists.
    func removeFile(named name: String) throws(BlobError) {
        guard unlinkat(self.descriptor.rawValue, name, 0) == 0 || errno == ENOENT else {
            throw self.failure("Could not remove", name)
        }
    }

    /// Moves a file to another folder and name.
    ///
    /// - Returns: False, without any change, if the new name already exists.
    func moveFile(named name: String, to folder: Folder, as newName: String) throws(BlobError) -> Bool {
        if blob_rename_new(self.descriptor.rawValue, name, folder.descriptor.rawValue, newName) == 0 { return true }
        guard errno == EEXIST else {
            throw BlobError(systemError: errno, doing: "Could not move \(self.path)/\(name) to \(folder.path)")
        }
        return false
    }

    /// Returns all names except names that are not UTF-8, which this library never creates.
    func names() throws(BlobError) -> [String] {
        try folderEntries(".", in: self.descriptor.rawValue, doing: "Could not read the folder \(self.path)")
            .compactMap { String(validating: $0.name, as: UTF8.self) }
    }

    /// Synchronises the folder to the disk, so that the names in it survive a power failure.
    func synchronise() throws(BlobError) {
        // Some file systems cannot synchronise folders, and fail with EINVAL.
        guard retryingOnInterrupt({ fsync(self.descriptor.rawValue) }) == 0 || errno == EINVAL else {
            throw BlobError(systemError: errno, doing: "Could not synchronise \(self.path)")
        }
    }

    private func failure(_ act: String, _ name: String) -> BlobError {
        BlobError(systemError: errno, doing: "\(act) \(self.path)/\(name)")
    }
}

/// Returns a path without links, as bytes; nil if the path does not exist.
func resolvedPath(_ path: [UInt8]) -> [UInt8]? {
    guard let resolved = realpath(path.cString, nil) else { return nil }
    defer { free(resolved) }
    return Array(UnsafeRawBufferPointer(start: resolved, count: strlen(resolved)))
}
#endif
