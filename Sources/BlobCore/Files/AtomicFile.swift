import BlobPlatform

/// A file that appears under its name when it is whole.
package final class AtomicFile {
    /// Where the names are looked up: the descriptor of a folder, or `AT_FDCWD`.
    private let folder: CInt
    private let name: String
    private let descriptor: CInt
    package private(set) var temporaryPath: String?  // Nil once committed, and when the target is written to directly.
    private var isOpen = true

    /// Makes the temporary file beside the target of `path`, to which links are followed, also where it is missing.
    package convenience init(path: String) throws(BlobError) {
        var status = stat()
        let isThere = stat(path, &status) == 0
        // Renaming over a device or a pipe would replace it.
        let isWrittenDirectly = isThere && status.st_mode & S_IFMT != S_IFREG
        let name = isWrittenDirectly ? path : try followingLinks(path)
        try self.init(name, in: AT_FDCWD, permissions: 0o666, isWrittenDirectly: isWrittenDirectly)
        if isThere, !isWrittenDirectly { _ = fchmod(self.descriptor, status.st_mode & 0o7777) }
    }

    /// Makes the temporary file in a folder, for this user alone. Whatever has the name is replaced, a link too.
    ///
    /// - Parameter folder: Its descriptor, which stays open as long as this file is.
    package convenience init(named name: String, in folder: CInt) throws(BlobError) {
        try self.init(name, in: folder, permissions: 0o600)
    }

    private init(
        _ name: String, in folder: CInt, permissions: mode_t, isWrittenDirectly: Bool = false
    ) throws(BlobError) {
        self.folder = folder
        self.name = name
        let temporaryPath = isWrittenDirectly ? nil : try Self.temporaryName(for: name)
        let creating = isWrittenDirectly ? 0 : O_CREAT | O_EXCL | O_NOFOLLOW
        self.descriptor = openat(folder, temporaryPath ?? name, O_WRONLY | O_CLOEXEC | creating, permissions)
        guard self.descriptor >= 0 else {
            throw writeFailure(isWrittenDirectly ? "Could not open" : "Could not create a file beside", name)
        }
        self.temporaryPath = temporaryPath
    }

    /// Leaves room for the mark within the 255 bytes of a name, also when each scalar takes four.
    private static let maximumNamePrefix = 50

    deinit { self.discard() }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.descriptor, named: self.name)
    }

    /// Synchronises the bytes to the disk, gives the file its name, and synchronises that.
    package func commit() throws(BlobError) {
        if self.temporaryPath != nil, fsync(self.descriptor) != 0 {
            throw writeFailure("Could not synchronise", self.name)
        }
        self.isOpen = false
        guard close(self.descriptor) == 0 else { throw writeFailure("Could not close", self.name) }
        guard let temporaryPath else { return }
        guard renameat(self.folder, temporaryPath, self.folder, self.name) == 0 else {
            throw writeFailure("Could not name the file", self.name)
        }
        self.temporaryPath = nil
        try self.synchroniseFolder()
    }

    /// Removes the file unless it was committed. Twice is fine.
    package func discard() {
        if self.isOpen { _ = close(self.descriptor) }
        self.isOpen = false
        if let temporaryPath { _ = unlinkat(self.folder, temporaryPath, 0) }
        self.temporaryPath = nil
    }

    /// Before this, a loss of power may take the name away again.
    private func synchroniseFolder() throws(BlobError) {
        var folder = self.folder
        if folder == AT_FDCWD {
            let path = split(self.name).folder
            folder = open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        }
        // One that may be written to and not be read cannot be synchronised.
        guard folder >= 0 else { return }
        defer { if folder != self.folder { _ = close(folder) } }
        // Not every file system can.
        guard fsync(folder) != 0, errno == EIO || errno == ENOSPC || errno == EDQUOT else { return }
        throw writeFailure("Could not synchronise the folder of", self.name)
    }

    private static func temporaryName(for path: String) throws(BlobError) -> String {
        let (folder, name) = split(path)
        guard !name.isEmpty else {
            throw BlobError(.invalidArgument, "'\(path)' is no name for a file.", operation: "write")
        }
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        return "\(folder).\(String(name.unicodeScalars.prefix(Self.maximumNamePrefix))).\(mark)"
    }
}

/// The error of the call that failed last.
private func writeFailure(_ act: String, _ path: String) -> BlobError {
    var error = BlobError(systemError: errno, doing: "\(act) \(path)")
    error.operation = "write"
    return error
}

/// Writes all bytes, going on after short writes and interruptions.
///
/// - Throws: ``BlobError/Code/io`` with the `errno`; how many bytes went out before it is not known.
package func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, named name: String
) throws(BlobError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = BlobPlatform.write(descriptor, rest.baseAddress, rest.count)
        if count < 0 {
            if errno == EINTR { continue }
            if errno == EAGAIN {
                // Somebody else made this descriptor non-blocking; it is theirs too, so wait instead of changing it.
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&request, 1, -1)
                continue
            }
            throw writeFailure("Could not write to", name)
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
}

/// The path of a file, and its name behind the last slash.
///
/// Not with `NSString`: on Linux a path of one letter ends the process there (Swift 6.3).
private func split(_ path: String) -> (folder: String, name: String) {
    let scalars = path.unicodeScalars
    let start = scalars.lastIndex(of: "/").map { scalars.index(after: $0) } ?? scalars.startIndex
    return (String(scalars[..<start]), String(scalars[start...]))
}

/// The target of a symbolic link, also of one that leads to nothing yet, so that a write through it does not replace it.
private func followingLinks(_ path: String) throws(BlobError) -> String {
    var path = path
    // As many links as Linux follows.
    for _ in 0..<40 {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        guard count >= 0 else { return path }
        let link = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = link.hasPrefix("/") ? link : split(path).folder + link
    }
    errno = ELOOP
    throw writeFailure("Could not follow the links from", path)
}
