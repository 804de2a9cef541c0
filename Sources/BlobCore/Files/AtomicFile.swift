import BlobPlatform

/// A file that appears under its name only when it is complete.
package final class AtomicFile {
    /// The folder in which names are looked up; nil for the current folder.
    private let folder: Descriptor?
    private let name: String
    private let file: Descriptor
    /// The path of the incomplete file; nil once committed, for a file without a name, and for a target that is written
    /// directly.
    package private(set) var temporaryPath: String?
    /// The temporary path for an unnamed file that replaces another; nil for a file with a name.
    private var sparePath: String?
    private let context: BlobContext

    /// Creates the temporary file beside the target of `path`. Links are followed, even to a missing target.
    ///
    /// If the file system supports it, the file has no name, so that a killed process leaves nothing behind.
    ///
    /// - Parameter context: The context that limits the wait for the other end of a pipe.
    package convenience init(path: String, _ context: BlobContext = BlobContext()) throws(BlobError) {
        let status = FileStatus(at: path)
        // Renaming over a device or a pipe would replace it.
        let isWrittenDirectly = status?.isRegular == false
        let name = isWrittenDirectly ? path : try followingLinks(path)
        try self.init(
            name, in: nil, permissions: 0o666, isWrittenDirectly: isWrittenDirectly, mayBeUnnamed: true, context)
        // Without the set-ID and sticky bits, which were granted for other contents, perhaps by another user.
        if let status, !isWrittenDirectly { _ = fchmod(self.file.rawValue, status.permissions & 0o777) }
    }

    /// Creates the temporary file in a folder, accessible to this user alone. Replaces an existing file or link of this
    /// name.
    ///
    /// - Parameter folder: The folder, whose descriptor this object retains.
    package convenience init(named name: String, in folder: Descriptor) throws(BlobError) {
        try self.init(name, in: folder, permissions: 0o600)
    }

    private init(
        _ name: String, in folder: Descriptor?, permissions: mode_t, isWrittenDirectly: Bool = false,
        mayBeUnnamed: Bool = false, _ context: BlobContext = BlobContext()
    ) throws(BlobError) {
        self.folder = folder
        self.name = name
        self.context = context
        let temporaryPath = isWrittenDirectly ? nil : try Self.temporaryName(for: name)
        if mayBeUnnamed, let temporaryPath, Self.canBeName(name) {
            let path = split(name).folder
            let unnamed = retryingOnInterrupt {
                openUnnamedFile(in: AT_FDCWD, path.isEmpty ? "." : path, permissions: UInt32(permissions))
            }
            if let unnamed = try? Descriptor(unnamed, doing: "") {
                (self.file, self.sparePath) = (unnamed, temporaryPath)
                return
            }
        }
        let flags = isWrittenDirectly ? O_NONBLOCK : O_CREAT | O_EXCL | O_NOFOLLOW
        let folderDescriptor = folder?.rawValue ?? AT_FDCWD
        var descriptor: CInt = -1
        while true {
            descriptor = retryingOnInterrupt {
                openat(folderDescriptor, temporaryPath ?? name, O_WRONLY | O_CLOEXEC | flags, permissions)
            }
            // A pipe without a reader yet: no event reports when one opens it. A socket always fails with the same
            // error.
            guard descriptor < 0, errno == ENXIO, isWrittenDirectly, Self.isPipe(name) else { break }
            try context.pause(for: Self.openingInterval)
        }
        self.file = try Descriptor(
            descriptor,
            doing: "\(isWrittenDirectly ? "Could not open" : "Could not create a temporary file next to") \(name)",
            operation: "write")
        self.temporaryPath = temporaryPath
    }

    private var folderDescriptor: CInt { self.folder?.rawValue ?? AT_FDCWD }

    /// The interval between attempts to open a pipe that has no reader yet.
    private static let openingInterval = Duration.milliseconds(20)

    /// Returns true for a named pipe; preserves `errno`.
    private static func isPipe(_ path: String) -> Bool {
        let number = errno
        defer { errno = number }
        return FileStatus(at: path)?.type == S_IFIFO
    }

    /// Returns false for a name that no file can have; such a name is rejected before the first byte is written.
    private static func canBeName(_ path: String) -> Bool {
        FileStatus(at: path, followingLinks: false) != nil || errno == ENOENT
    }

    /// The maximum number of Unicode scalars of the file's name in the temporary name, which then has at most 255
    /// bytes, even at four bytes per scalar.
    private static let maximumNamePrefixScalarCount = 50

    deinit { self.discard() }

    package func write(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try writeAll(bytes, to: self.file.rawValue, named: self.name, self.context)
    }

    /// Synchronises the bytes to the disk, renames the file to its final name, and synchronises the folder.
    package func commit() throws(BlobError) {
        let isDirect = self.temporaryPath == nil && self.sparePath == nil
        if !isDirect { try self.file.synchronise(doing: "Could not synchronise \(self.name)") }
        if let sparePath { try self.assignName(or: sparePath) }
        guard self.file.close() else { throw writeFailure("Could not close \(self.name)") }
        guard !isDirect else { return }
        if let temporaryPath {
            guard renameat(self.folderDescriptor, temporaryPath, self.folderDescriptor, self.name) == 0 else {
                throw writeFailure("Could not rename the temporary file to \(self.name)")
            }
        }
        self.temporaryPath = nil
        if let folder { return try folder.synchroniseFolder(doing: "Could not synchronise the folder of \(self.name)") }
        try synchroniseFolder(of: self.name)
    }

    /// Gives the unnamed file its name or, if that name exists, the name `sparePath`, to be renamed over the existing
    /// file.
    private func assignName(or sparePath: String) throws(BlobError) {
        self.sparePath = nil
        guard !nameUnnamedFile(self.file.rawValue, in: self.folderDescriptor, self.name) else { return }
        guard errno == EEXIST, nameUnnamedFile(self.file.rawValue, in: self.folderDescriptor, sparePath) else {
            throw writeFailure("Could not create the file \(self.name)")
        }
        self.temporaryPath = sparePath
    }

    /// Removes the file unless it was committed. May be called twice.
    package func discard() {
        self.file.close()
        if let temporaryPath { _ = unlinkat(self.folderDescriptor, temporaryPath, 0) }
        self.temporaryPath = nil
    }

    private static func temporaryName(for path: String) throws(BlobError) -> String {
        let (folder, name) = split(path)
        guard !name.isEmpty else {
            throw BlobError(.invalidArgument, "'\(path)' is not a file name.", operation: "write")
        }
        let mark = String(UInt64.random(in: 0 ... .max), radix: 36)
        return "\(folder).\(String(name.unicodeScalars.prefix(Self.maximumNamePrefixScalarCount))).\(mark)"
    }
}

/// Writes all bytes, continuing after short writes and interruptions.
///
/// - Throws: The error of `write(2)`, or, for a descriptor in non-blocking mode, the error that ends the context. The
///   number of bytes written before the error is unknown.
package func writeAll(
    _ bytes: UnsafeRawBufferPointer, to descriptor: CInt, named name: @autoclosure () -> String,
    _ context: BlobContext = BlobContext()
) throws(BlobError) {
    var rest = bytes
    while !rest.isEmpty {
        let count = BlobPlatform.write(descriptor, rest.baseAddress, rest.count)
        if count < 0 {
            if errno == EINTR { continue }
            if errno == EAGAIN {
                // A descriptor in blocking mode may get here too: its flag is shared, so another owner may have set it,
                // and it is left unchanged. Each wait is short, so that the end of the job is noticed.
                var request = pollfd(fd: descriptor, events: Int16(POLLOUT), revents: 0)
                _ = poll(&request, 1, 200)
                try context.check()
                continue
            }
            throw writeFailure("Could not write to \(name())")
        }
        rest = UnsafeRawBufferPointer(rebasing: rest.dropFirst(count))
    }
}

/// Writes all bytes of an array; see ``writeAll(_:to:named:_:)``.
package func writeAll(
    _ bytes: [UInt8], to descriptor: CInt, named name: @autoclosure () -> String
) throws(BlobError) {
    try bytes.withBytes { (bytes) throws(BlobError) in try writeAll(bytes, to: descriptor, named: name()) }
}

/// Waits until the name of a file is on the disk; until then, a power failure may undo a rename.
package func synchroniseFolder(of path: String) throws(BlobError) {
    let folder = split(path).folder
    // A folder that is writable but not readable cannot be synchronised.
    try (try? Descriptor(folder.isEmpty ? "." : folder, O_RDONLY | O_DIRECTORY, doing: ""))?
        .synchroniseFolder(doing: "Could not synchronise the folder of \(path)")
}

/// Splits the path of a file into its folder, with the slash, and its name after the last slash.
///
/// Does not use `NSString`, which crashes the process for a one-letter path on Linux (Swift 6.3).
private func split(_ path: String) -> (folder: String, name: String) {
    let scalars = path.unicodeScalars
    let start = scalars.lastIndex(of: "/").map { scalars.index(after: $0) } ?? scalars.startIndex
    return (String(scalars[..<start]), String(scalars[start...]))
}

/// Returns the target of a symbolic link, even if it is missing, so that a write does not replace the link.
private func followingLinks(_ path: String) throws(BlobError) -> String {
    var path = path
    // The number of links that Linux follows.
    for _ in 0..<40 {
        var target = [CChar](repeating: 0, count: Int(PATH_MAX))
        let count = readlink(path, &target, target.count)
        guard count >= 0 else { return path }
        let link = String(decoding: target[..<count].map { UInt8(bitPattern: $0) }, as: UTF8.self)
        path = link.hasPrefix("/") ? link : split(path).folder + link
    }
    errno = ELOOP
    throw writeFailure("Could not resolve the symbolic link \(path)")
}
