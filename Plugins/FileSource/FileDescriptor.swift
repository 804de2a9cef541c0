import BlobCore
import BlobPlatform
import CPlatform

/// A descriptor that is open for reading, and is closed with this object unless borrowed.
final class FileDescriptor {
    let path: FilePath
    let status: FileStatus
    private let file: Descriptor

    /// The descriptor for use in system calls.
    var rawValue: CInt { self.file.rawValue }

    /// True if ``readNow(into:at:)`` can determine which bytes are in the page cache.
    var canReadCached: Bool {
        withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { buffer in
            switch try? self.readNow(into: buffer, at: 0) {
            case .bytes, .wouldWait: true
            case .unsupported, nil: false
            }
        }
    }

    /// Opens `path` without waiting for the writer of a FIFO.
    ///
    /// The first read waits for the writer and can be cancelled.
    init(opening path: FilePath) throws(BlobError) {
        do throws(BlobError) {
            self.file = try Descriptor(
                path.cString(), O_RDONLY | O_NONBLOCK | O_NOCTTY, doing: "Could not open \(path.text)")
        } catch {
            // ENXIO means either a socket or a missing device; `info` throws a clearer error for both.
            if error.systemErrorNumber == ENXIO { _ = try path.status().info(name: path.name) }
            throw error
        }
        self.path = path
        self.status = try Self.status(self.file, path)
    }

    /// Borrows a descriptor, which stays open after this object is closed.
    init(borrowing descriptor: CInt, named name: String) throws(BlobError) {
        self.path = FilePath(Array("/dev/\(name)".utf8))
        self.file = Descriptor(borrowing: descriptor)
        self.status = try Self.status(self.file, self.path)
    }

    /// Returns the current result of `fstat(2)`.
    func currentStatus() throws(BlobError) -> FileStatus { try Self.status(self.file, self.path) }

    /// Returns the info of the open file.
    ///
    /// The info has no size and no validator if a regular file of size 0 has bytes, or if a regular file without blocks
    /// has no byte at its end, as in `/proc` and `/sys`.
    func info(name: String) throws(BlobError) -> BlobInfo {
        let info = try self.status.info(name: name)
        let byteCount = self.status.byteCount
        guard self.status.isRegular, byteCount == 0 || self.status.hasNoBlocks else { return info }
        let count = try withUnsafeTemporaryAllocation(byteCount: 1, alignment: 1) { byte throws(BlobError) in
            try self.read(into: byte, at: max(byteCount - 1, 0))
        }
        guard (count > 0) == (byteCount == 0), try self.currentStatus().byteCount == byteCount else { return info }
        return BlobInfo(name: name)
    }

    /// Returns true if `read(2)` would not block, because bytes are available or the other end is closed.
    func isReadable() throws(BlobError) -> Bool {
        var request = pollfd(fd: self.rawValue, events: Int16(POLLIN), revents: 0)
        guard poll(&request, 1, 0) >= 0 || errno == EINTR || errno == EAGAIN else {
            throw BlobError(systemError: errno, doing: "Could not wait for \(self.path.text)")
        }
        return request.revents != 0
    }

    /// Calls `pread(2)`, and repeats the call if it is interrupted.
    func read(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64) throws(BlobError) -> Int {
        try self.file.read(into: buffer, at: byteOffset, named: self.path.text)
    }

    /// Calls `read(2)`, and repeats the call if it is interrupted; returns -1 if it would block.
    func read(into buffer: UnsafeMutableRawBufferPointer) throws(BlobError) -> Int {
        while true {
            let count = BlobPlatform.read(self.rawValue, buffer.baseAddress, buffer.count)
            if count >= 0 { return count }
            switch errno {
            case EINTR: continue
            case EAGAIN: return -1
            default: throw BlobError(systemError: errno, doing: "Could not read \(self.path.text)")
            }
        }
    }

    /// The outcome of ``readNow(into:at:)``.
    enum CachedRead: Equatable {
        /// The number of bytes read; 0 at the end of the file.
        case bytes(Int)
        /// The bytes are not in the page cache, so ``read(into:at:)`` would wait for the device.
        case wouldWait
        /// The file system, the kernel or the platform does not support such reads, neither now nor later.
        case unsupported
    }

    /// Reads bytes that are in the page cache, without waiting for a device.
    ///
    /// May read fewer bytes than fit even before the end of the file, if the following bytes are not in the page cache.
    func readNow(into buffer: UnsafeMutableRawBufferPointer, at byteOffset: Int64) throws(BlobError) -> CachedRead {
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

    /// Returns the status, including the length of a block device, which `fstat(2)` does not report.
    private static func status(_ file: Descriptor, _ path: FilePath) throws(BlobError) -> FileStatus {
        var status = try file.status(named: path.text)
        if status.isBlockDevice { status.byteCount = self.byteCount(ofDevice: file.rawValue) }
        return status
    }

    /// Returns the length of a block device in bytes; 0 if unknown. Does not change the position in the device.
    private static func byteCount(ofDevice descriptor: CInt) -> Int64 {
        let position = lseek(descriptor, 0, SEEK_CUR)
        guard position >= 0 else { return 0 }
        let end = lseek(descriptor, 0, SEEK_END)
        _ = lseek(descriptor, position, SEEK_SET)
        return max(Int64(end), 0)
    }
}

/// An absolute path, stored as the bytes that the system uses.
struct FilePath: Hashable, Sendable {
    let bytes: [UInt8]

    init(_ bytes: [UInt8]) {
        // A source must remain valid when the current folder changes.
        let isAbsolute = bytes.first == UInt8(ascii: "/")
        self.bytes = isAbsolute ? bytes : BlobLocator(filePath: bytes).filePath ?? bytes
    }

    /// The last component, for display.
    var name: String {
        let slash = UInt8(ascii: "/")
        let end = self.bytes.lastIndex { $0 != slash }.map { $0 + 1 } ?? 0
        let start = self.bytes[..<end].lastIndex(of: slash).map { $0 + 1 } ?? 0
        return String(decoding: self.bytes[start..<end], as: UTF8.self)
    }

    /// The path as text for messages. Bytes that are not UTF-8 become U+FFFD.
    var text: String { String(decoding: self.bytes, as: UTF8.self) }

    /// Returns the path as a C string; throws if the path contains a zero byte.
    func cString() throws(BlobError) -> [CChar] {
        guard !self.bytes.contains(0) else {
            throw BlobError(.invalidArgument, "A path must not contain a zero byte.")
        }
        return self.bytes.cString
    }

    func status() throws(BlobError) -> FileStatus {
        _ = try self.cString()  // Rejects a zero byte.
        return try FileStatus(ofFileAt: self.bytes)
    }
}

extension FileStatus {
    var isFIFO: Bool { self.type == S_IFIFO }
    var isBlockDevice: Bool { self.type == S_IFBLK }
    private var isDevice: Bool { self.type == S_IFCHR || self.isBlockDevice }

    /// Returns the info of a file with this status.
    ///
    /// - Throws: ``BlobError/Code/unsupported`` unless the file is a regular file, a FIFO or a device.
    func info(name: String) throws(BlobError) -> BlobInfo {
        // The times of a device do not reveal changes to its bytes. Without a validator, the bytes may change at any
        // time.
        if self.isBlockDevice, self.byteCount > 0 {
            return BlobInfo(byteCount: self.byteCount, name: name, isRandomAccess: true)
        }
        if self.isFIFO || self.isDevice { return BlobInfo(name: name) }
        guard self.isRegular else {
            throw BlobError(.unsupported, "\(name) is a \(self.kind), not a file, a FIFO or a device.")
        }
        var info = BlobInfo(
            byteCount: self.byteCount, name: name,
            validator: .weak("\(self.byteCount)-\(self.modificationTime)-\(self.identity.inode)"),
            isRandomAccess: true)
        info.statusChangeTime = self.statusChangeTime
        return info
    }

    private var kind: String {
        switch self.type {
        case S_IFDIR: "directory"
        case S_IFSOCK: "socket"
        default: "special file"
        }
    }
}
