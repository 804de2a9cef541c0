import BlobCore
import BlobPlatform
import CryptoDigest

/// The hidden file with the bytes of a resumable upload, locked against other receivers of the folder.
final class UploadFile: Sendable {
    /// The number of bytes that are read back at once.
    private static let readByteCount = 1 << 18

    let path: String
    let descriptor: CInt

    /// Creates the file, or empties one that an interrupted creation left.
    init(creatingAt path: String) throws(BlobError) {
        self.path = path
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard self.descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not create \(path)") }
        try self.lock()
        try self.truncate(to: 0)
    }

    /// Opens the file; nil if there is none.
    init?(openingAt path: String) throws(BlobError) {
        self.path = path
        self.descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard self.descriptor >= 0 else {
            guard errno == ENOENT else { throw BlobError(systemError: errno, doing: "Could not open an upload") }
            return nil
        }
        try self.lock()
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    func status() throws(BlobError) -> stat {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not open an upload")
        }
        return status
    }

    /// True while the file has its hidden name.
    var isHidden: Bool { access(self.path, F_OK) == 0 }

    /// Writes bytes; `offset` grows with each that is stored, so that it is right after an error too.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: inout Int64) throws(BlobError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = pwrite(self.descriptor, rest.baseAddress, rest.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not store an upload") }
            offset += Int64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Calls `take` with the first bytes of the file, piece by piece, from the disk or the system's cache.
    func read(_ byteCount: Int64, _ take: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < byteCount {
            let room = min(buffer.count, Int(clamping: byteCount - offset))
            let count = pread(self.descriptor, buffer.baseAddress, room, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not read an upload back") }
            try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    func truncate(to byteCount: Int64) throws(BlobError) {
        guard ftruncate(self.descriptor, off_t(byteCount)) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not shorten an upload")
        }
    }

    func synchronize() throws(BlobError) {
        guard uninterrupted({ fsync(self.descriptor) }) != 0 else { return }
        throw BlobError(systemError: errno, doing: "Could not store an upload")
    }

    /// Removes the hidden name.
    func hide() { _ = unlink(self.path) }

    /// Locks the file; a file system without locks has none.
    private func lock() throws(BlobError) {
        var lock = flock()
        (lock.l_type, lock.l_whence) = (numericCast(F_WRLCK), numericCast(SEEK_SET))
        guard fcntl(self.descriptor, DescriptionLock.set, &lock) != 0, errno == EAGAIN || errno == EACCES else {
            return
        }
        throw UploadRefusal.error(423, "Another receiver has the upload open.")
    }
}
