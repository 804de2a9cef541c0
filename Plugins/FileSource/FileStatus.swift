import BlobCore
import BlobPlatform

/// The fields of `stat(2)` that identify the state of a file.
struct FileStatus: Equatable, Sendable {
    /// The length in bytes; 0 for anything but a regular file and an open block device.
    let byteCount: Int64
    /// The time of the last modification, in nanoseconds since 1970.
    let modificationTime: Int64
    let inode: UInt64
    /// True for a file with a size and no block: it is sparse, stored within its inode, or made up while it is read.
    let hasNoBlocks: Bool
    private let statusChangeTime: Int64
    private let type: mode_t

    /// - Parameter deviceByteCount: The length of a block device, which its status does not have.
    init(_ status: stat, deviceByteCount: Int64 = 0) {
        self.byteCount = status.st_mode & S_IFMT == S_IFBLK ? deviceByteCount : Int64(status.st_size)
        self.modificationTime = status.modificationNanoseconds
        self.inode = UInt64(status.st_ino)
        self.statusChangeTime = status.statusChangeNanoseconds
        self.type = status.st_mode & S_IFMT
        self.hasNoBlocks = status.st_size > 0 && status.st_blocks == 0
    }

    /// Ignores the time of the last status change, because names and permissions may change while a file is read.
    static func == (left: Self, right: Self) -> Bool {
        (left.byteCount, left.modificationTime, left.inode, left.type)
            == (right.byteCount, right.modificationTime, right.inode, right.type)
    }

    var isRegular: Bool { self.type == S_IFREG }
    var isFIFO: Bool { self.type == S_IFIFO }
    var isDirectory: Bool { self.type == S_IFDIR }
    var isBlockDevice: Bool { self.type == S_IFBLK }
    private var isDevice: Bool { self.type == S_IFCHR || self.isBlockDevice }

    /// - Throws: ``BlobError/Code/unsupported`` for anything but a regular file, a FIFO or a device.
    func info(name: String) throws(BlobError) -> BlobInfo {
        // The times of a device say nothing about its bytes: without a validator, they may be others at any time.
        if self.isBlockDevice, self.byteCount > 0 {
            return BlobInfo(byteCount: self.byteCount, name: name, isRandomAccess: true)
        }
        if self.isFIFO || self.isDevice { return BlobInfo(name: name) }
        guard self.isRegular else {
            throw BlobError(.unsupported, "\(name) is a \(self.kind), not a file, a FIFO or a device.")
        }
        var info = BlobInfo(
            byteCount: self.byteCount, name: name,
            validator: .weak("\(self.byteCount)-\(self.modificationTime)-\(self.inode)"),
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
