import Foundation

/// A file that appears under its name when it is whole.
package final class AtomicFile {
    /// Where the names are looked up: the descriptor of a folder, or `AT_FDCWD`.
    private let folder: CInt
    private let name: String
    private let descriptor: CInt
    package private(set) var temporaryPath: String?  // Nil once committed, and when the target is written to directly.
    private var isOpen = true

    /// Makes the temporary file beside the target of `path`, to which links are followed, also where it is missing.
    package init(path: String) throws(BlobError) {
        self.folder = AT_FDCWD
        var status = stat()
        let isThere = stat(path, &status) == 0
        if isThere, status.st_mode & S_IFMT != S_IFREG {
            // Renaming over a device or a pipe would replace it.
            self.name = path
            self.descriptor = Foundation.open(path, O_WRONLY | O_CLOEXEC)
            guard self.descriptor >= 0 else { throw Self.failure("Could not open", path) }
            return
        }
        self.name = try resolved(path)
        let temporaryPath = try Self.temporaryName(for: self.name)
        self.descriptor = Foundation.open(temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o666)
        guard self.descriptor >= 0 else { throw Self.failure("Could not create a file beside", path) }
        self.temporaryPath = temporaryPath
        if isThere { _ = fchmod(self.descriptor, status.st_mode & 0o7777) }
    }

    /// Makes the temporary file in a folder, for this user alone. Whatever has the name is replaced, a link too.
    ///
    /// - Parameter folder: Its descriptor, which stays open as long as this file is.
    package init(named name: String, in folder: CInt) throws(BlobError) {
        self.folder = folder
        self.name = name
        let temporaryPath = try Self.temporaryName(for: name)
        self.descriptor = openat(folder, temporaryPath, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
        guard self.descriptor >= 0 else { throw Self.failure("Could not create a file beside", name) }
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
            throw Self.failure("Could not synchronise", self.name)
        }
        self.isOpen = false
        guard Foundation.close(self.descriptor) == 0 else { throw Self.failure("Could not close", self.name) }
        guard let temporaryPath else { return }
        guard renameat(self.folder, temporaryPath, self.folder, self.name) == 0 else {
            throw Self.failure("Could not name the file", self.name)
        }
        self.temporaryPath = nil
        try self.synchroniseFolder()
    }

    /// Removes the file unless it was committed. Twice is fine.
    package func discard() {
        if self.isOpen { _ = Foundation.close(self.descriptor) }
        self.isOpen = false
        if let temporaryPath { _ = unlinkat(self.folder, temporaryPath, 0) }
        self.temporaryPath = nil
    }

    /// Before this, a loss of power may take the name away again.
    private func synchroniseFolder() throws(BlobError) {
        guard self.folder == AT_FDCWD else { return try Self.synchronise(self.folder, self.name) }
        let path = split(self.name).folder
        let folder = Foundation.open(path.isEmpty ? "." : path, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        // One that may be written to and not be read cannot be synchronised.
        guard folder >= 0 else { return }
        defer { _ = Foundation.close(folder) }
        try Self.synchronise(folder, self.name)
    }

    private static func synchronise(_ folder: CInt, _ name: String) throws(BlobError) {
        // Not every file system can.
        guard fsync(folder) != 0, errno == EIO || errno == ENOSPC || errno == EDQUOT else { return }
        throw Self.failure("Could not synchronise the folder of", name)
    }

    private static func temporaryName(for path: String) throws(BlobError) -> String {
        let (folder, name) = split(path)
        guard !name.isEmpty else {
            throw BlobError(.invalidArgument, "'\(path)' is no name for a file.", operation: .write)
        }
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        return "\(folder).\(String(name.unicodeScalars.prefix(Self.maximumNamePrefix))).\(mark)"
    }

    fileprivate static func failure(_ act: String, _ path: String) -> BlobError {
        var error = BlobError(systemError: errno, doing: "\(act) \(path)")
        error.operation = .write
        return error
    }
}

/// Writes all bytes, going on after short writes and interruptions.
///
/// - Throws: ``BlobError/Code/io`` with the `errno`; how many bytes went out before it is not known.
package func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, named name: String
) throws(BlobError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = Foundation.write(descriptor, rest.baseAddress, rest.count)
        if count < 0 {
            if errno == EINTR { continue }
            if errno == EAGAIN {
                // Somebody else made this descriptor non-blocking; it is theirs too, so wait instead of changing it.
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&request, 1, -1)
                continue
            }
            var error = BlobError(systemError: errno, doing: "Could not write to \(name)")
            error.operation = .write
            throw error
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
private func resolved(_ path: String) throws(BlobError) -> String {
    var path = path
    // As many links as Linux follows.
    for _ in 0..<40 {
        if let real = realpath(path, nil) {
            defer { free(real) }
            return String(cString: real)
        }
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        guard count >= 0 else { return path }
        let link = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = link.hasPrefix("/") ? link : split(path).folder + link
    }
    errno = ELOOP
    throw AtomicFile.failure("Could not follow the links from", path)
}
