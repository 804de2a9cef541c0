import BlobStreams
import Foundation

/// Owns the descriptor of an original that is read.
final class OriginalFile {
    /// As the file was when the bytes in it were last known to be right.
    private(set) var snapshot: FileSnapshot
    private let descriptor: CInt
    private let path: String
    private var isOpen = true

    /// Opens the regular file at `path`, which must not be a link.
    init(_ path: String) throws(BlobError) {
        var descriptor: CInt
        repeat {
            descriptor = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK)
        } while descriptor < 0 && errno == EINTR
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open the original \(path)") }
        self.descriptor = descriptor
        self.path = path
        do {
            self.snapshot = try FileSnapshot(descriptor, path)
        } catch {
            _ = Foundation.close(descriptor)
            throw error
        }
        guard self.snapshot.isRegular else {
            throw BlobError(.unsupported, "The original \(path) is not a regular file.")
        }
    }

    deinit { self.close() }

    func close() {
        if self.isOpen { _ = Foundation.close(self.descriptor) }
        self.isOpen = false
    }

    /// What the file is now.
    func status() throws(BlobError) -> FileSnapshot { try FileSnapshot(self.descriptor, self.path) }

    /// Takes what the file is now for right, as long as its content has not been written to.
    ///
    /// - Returns: False when it has.
    func acceptMove() throws(BlobError) -> Bool {
        let now = try self.status()
        guard now.hasContent(of: self.snapshot) else { return false }
        self.snapshot = now
        return true
    }

    /// One `pread(2)` that goes on after interruptions.
    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64) throws(BlobError) -> Int {
        while true {
            let count = pread(self.descriptor, buffer.baseAddress, buffer.count, off_t(byteOffset))
            if count >= 0 { return count }
            guard errno == EINTR else { throw BlobError(systemError: errno, doing: "Could not read \(self.path)") }
        }
    }
}

/// What `fstat(2)` says that matters: which file it is, and whether it was touched.
struct FileSnapshot: Equatable {
    let byteCount: Int64
    let isRegular: Bool
    private let device: UInt64
    private let inode: UInt64
    private let modification: FileTime
    /// Of the inode: also changed by renaming and removing.
    private let change: FileTime

    init(_ descriptor: CInt, _ path: String) throws(BlobError) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not look at \(path)")
        }
        self.init(status)
    }

    private init(_ status: stat) {
        self.byteCount = Int64(status.st_size)
        self.isRegular = status.st_mode & S_IFMT == S_IFREG
        self.device = UInt64(status.st_dev)
        self.inode = UInt64(status.st_ino)
        (self.modification, self.change) = (status.modification, status.change)
    }

    /// Of the file that links at `path` lead to. Opens nothing: to close a database takes the locks of SQLite away.
    init(path: String) throws(BlobError) {
        var status = stat()
        guard stat(path, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not look at \(path)")
        }
        self.init(status)
    }

    /// Whether both are one file that was not written to in between; it may have been renamed, or removed.
    func hasContent(of other: FileSnapshot) -> Bool {
        self.isSameFile(as: other) && self.byteCount == other.byteCount && self.modification == other.modification
    }

    /// Whether both are of one file, whatever happened to it.
    func isSameFile(as other: FileSnapshot) -> Bool { self.device == other.device && self.inode == other.inode }
}

/// A time of a file.
struct FileTime: Equatable {
    let seconds: Int64
    let nanoseconds: Int64
}
