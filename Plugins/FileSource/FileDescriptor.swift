import BlobCore
import BlobPlatform
import CPlatform

/// A descriptor that is open for reading, closed with this object unless it is borrowed.
final class FileDescriptor {
    let rawValue: CInt
    let path: FilePath
    let status: FileStatus
    private let isOwned: Bool
    private var isOpen = true

    /// True when ``readNow(into:at:)`` can tell which bytes are in the page cache.
    var canReadNow: Bool {
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            switch try? self.readNow(into: buffer, at: 0) {
            case .bytes, .wouldWait: true
            case .unsupported, nil: false
            }
        }
    }

    /// Opens `path` without waiting for the writer of a FIFO: the first read waits for it, and can be cancelled.
    init(opening path: FilePath) throws(BlobError) {
        let flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY
        let descriptor = try path.withCString { path in uninterrupted { open(path, flags) } }
        guard descriptor >= 0 else {
            let error = BlobError(systemError: errno, doing: "Could not open \(path.text)")
            // ENXIO stands for both a socket and a missing device; `info` throws a clearer error for either.
            if error.systemErrorNumber == ENXIO { _ = try path.status().info(name: path.name) }
            throw error
        }
        do {
            self.status = try Self.status(descriptor, path)
        } catch {
            _ = BlobPlatform.close(descriptor)
            throw error
        }
        self.rawValue = descriptor
        self.path = path
        self.isOwned = true
    }

    /// Borrows a descriptor, which stays open when this object is closed.
    init(borrowing descriptor: CInt, named name: String) throws(BlobError) {
        let path = FilePath(Array("/dev/\(name)".utf8))
        self.status = try Self.status(descriptor, path)
        self.rawValue = descriptor
        self.path = path
        self.isOwned = false
    }

    private init(_ rawValue: CInt, _ original: FileDescriptor) {
        self.rawValue = rawValue
        self.path = original.path
        self.status = original.status
        self.isOwned = true
    }

    deinit { self.close() }

    /// Returns a new descriptor of the same open file.
    func duplicate() throws(BlobError) -> FileDescriptor {
        let copy = fcntl(self.rawValue, F_DUPFD_CLOEXEC, 0)
        guard copy >= 0 else { throw BlobError(systemError: errno, doing: "Could not read \(self.path.text)") }
        return FileDescriptor(copy, self)
    }

    func close() {
        guard self.isOpen else { return }
        self.isOpen = false
        if self.isOwned { _ = BlobPlatform.close(self.rawValue) }
    }

    /// Returns the current result of `fstat(2)`.
    func currentStatus() throws(BlobError) -> FileStatus { try Self.status(self.rawValue, self.path) }

    /// Returns the info of the open file, without size and validator when a regular file of size 0 has bytes, or one
    /// without blocks has no byte at its end, as files of `/proc` and `/sys`.
    func info(name: String) throws(BlobError) -> BlobInfo {
        let info = try self.status.info(name: name)
        let byteCount = self.status.byteCount
        guard self.status.isRegular, byteCount == 0 || self.status.hasNoBlocks else { return info }
        let count = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte throws(BlobError) in
            try self.read(into: byte, at: max(byteCount - 1, 0))
        }
        guard (count ?? 0 > 0) == (byteCount == 0), try self.currentStatus().byteCount == byteCount else { return info }
        return BlobInfo(name: name)
    }

    /// Returns true when `read(2)` would not block: bytes are available, or the other end is closed.
    func isReadable() throws(BlobError) -> Bool {
        guard self.isOpen else { throw BlobError(.closed, "The reader is closed.") }
        var request = pollfd(fd: self.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, 0) >= 0 || errno == EINTR || errno == EAGAIN else {
            throw BlobError(systemError: errno, doing: "Could not wait for \(self.path.text)")
        }
        return request.revents != 0
    }

    /// Calls `pread(2)`, or `read(2)` when `byteOffset` is nil, and repeats an interrupted call; returns nil when it
    /// would block.
    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64?) throws(BlobError) -> Int? {
        guard self.isOpen else { throw BlobError(.closed, "The reader is closed.") }
        if let byteOffset {
            return try RegularFile.read(self.rawValue, into: buffer, at: byteOffset, named: self.path.text)
        }
        while true {
            let count = BlobPlatform.read(self.rawValue, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return nil
            default: throw BlobError(systemError: errno, doing: "Could not read \(self.path.text)")
            }
        }
    }

    /// The outcome of ``readNow(into:at:)``.
    enum NowResult: Equatable {
        /// The number of bytes that were read; 0 at the end of the file.
        case bytes(Int)
        /// The bytes are not in the page cache: ``read(into:at:)`` would wait for the device.
        case wouldWait
        /// The file system, the kernel or the platform cannot tell, for this or any later read.
        case unsupported
    }

    /// Reads the bytes that are in the page cache, without waiting for a device.
    ///
    /// May read fewer bytes than fit before the end of the file: the bytes that follow are not in the page cache.
    func readNow(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64) throws(BlobError) -> NowResult {
        guard self.isOpen else { throw BlobError(.closed, "The reader is closed.") }
        while true {
            let count = blob_read_now(self.rawValue, buffer.baseAddress, buffer.count, off_t(byteOffset))
            if count >= 0 { return .bytes(count) }
            switch errno {
            case EINTR: continue
            case EAGAIN: return .wouldWait
            case EOPNOTSUPP, ENOSYS: return .unsupported
            default: throw BlobError(systemError: errno, doing: "Could not read \(self.path.text)")
            }
        }
    }

    private static func status(_ descriptor: CInt, _ path: FilePath) throws(BlobError) -> FileStatus {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not look at \(path.text)")
        }
        let isBlockDevice = status.st_mode & S_IFMT == S_IFBLK
        return FileStatus(status, deviceByteCount: isBlockDevice ? self.byteCount(ofDevice: descriptor) : 0)
    }

    /// Returns the length of a block device in bytes; 0 when it cannot be told. The position in it stays.
    private static func byteCount(ofDevice descriptor: CInt) -> Int64 {
        let position = lseek(descriptor, 0, SEEK_CUR)
        guard position >= 0 else { return 0 }
        let end = lseek(descriptor, 0, SEEK_END)
        _ = lseek(descriptor, position, SEEK_SET)
        return max(Int64(end), 0)
    }
}
