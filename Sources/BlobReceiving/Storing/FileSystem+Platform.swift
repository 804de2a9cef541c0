import BlobCore
import BlobPlatform

/// The file system that contains a folder.
final class FileSystem {
    private let folder: String
    private let descriptor: Descriptor

    /// Opens the folder. From then on, ``synchronize()`` throws any write error that occurs.
    init(of folder: String) throws(BlobError) {
        self.folder = folder
        self.descriptor = try Descriptor(folder, O_RDONLY | O_DIRECTORY, doing: "Could not open \(folder)")
    }

    /// Synchronises the folder. Until then, a power failure may undo changes to the names of its files.
    func synchronizeFolder() throws(BlobError) {
        try self.descriptor.synchroniseFolder(doing: "Could not synchronise the folder \(self.folder)")
    }

    #if canImport(Glibc)
    // Not declared in Swift's module for the C library.
    private static let syncfs = dlsym(nil, "syncfs").map {
        unsafeBitCast($0, to: (@convention(c) (CInt) -> CInt).self)
    }

    static var canSynchronize: Bool { self.syncfs != nil }

    /// Waits until all pending writes of the file system are on the disk (syncfs(2)). This takes no longer than
    /// synchronising a single file. Has no effect if the C library lacks this function.
    func synchronize() throws(BlobError) {
        guard let syncfs = Self.syncfs, syncfs(self.descriptor.rawValue) != 0 else { return }
        throw BlobError(systemError: errno, doing: "Could not synchronise the files in \(self.folder)")
    }
    #else
    static var canSynchronize: Bool { false }

    func synchronize() throws(BlobError) {}
    #endif
}

/// The fcntl(2) commands for locks that belong to an open file description, which remain when another descriptor of the
/// file is closed. Not declared in Swift's module for the C library.
enum DescriptionLock {
    #if canImport(Darwin)
    static let setCommand: CInt = 90
    static let getCommand: CInt = 92
    #else
    static let setCommand: CInt = 37
    static let getCommand: CInt = 36
    #endif

    /// Returns the argument for these commands.
    ///
    /// - Parameter count: The number of bytes to lock; 0 to lock all bytes from the offset on.
    static func request(_ type: CInt, at byteOffset: Int64 = 0, count: Int64 = 0) -> flock {
        var lock = flock()
        (lock.l_type, lock.l_whence) = (numericCast(type), numericCast(SEEK_SET))
        (lock.l_start, lock.l_len) = (off_t(byteOffset), off_t(count))
        return lock
    }
}
