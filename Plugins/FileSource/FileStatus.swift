import BlobCore
import BlobPlatform

/// The fields of `stat(2)` that identify the state of a file.
struct FileStatus: Equatable, Sendable {
    let byteCount: Int64
    /// The time of the last modification, in nanoseconds since 1970.
    let modificationTime: Int64
    let inode: UInt64
    private let statusChangeTime: Int64
    private let type: mode_t

    init(_ status: stat) {
        self.byteCount = Int64(status.st_size)
        self.modificationTime = status.modificationNanoseconds
        self.inode = UInt64(status.st_ino)
        self.statusChangeTime = status.statusChangeNanoseconds
        self.type = status.st_mode & S_IFMT
    }

    /// Ignores the time of the last status change, because names and permissions may change while a file is read.
    static func == (left: Self, right: Self) -> Bool {
        (left.byteCount, left.modificationTime, left.inode, left.type)
            == (right.byteCount, right.modificationTime, right.inode, right.type)
    }

    var isRegular: Bool { self.type == S_IFREG }
    var isFIFO: Bool { self.type == S_IFIFO }
    var isDirectory: Bool { self.type == S_IFDIR }

    /// - Throws: ``BlobError/Code/unsupported`` for anything but a regular file or a FIFO.
    func info(name: String) throws(BlobError) -> BlobInfo {
        if self.isFIFO { return BlobInfo(name: name) }
        guard self.isRegular else {
            throw BlobError(.unsupported, "\(name) is a \(self.kind), not a file or a FIFO.")
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
        case S_IFCHR, S_IFBLK: "device"
        case S_IFSOCK: "socket"
        default: "special file"
        }
    }
}
