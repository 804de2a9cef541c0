package import BlobPlatform

/// The result of `stat(2)`: the kind of a file, and the times that reveal changes to it.
package struct FileStatus: Equatable, Sendable {
    package let identity: FileIdentity
    /// The type, such as `S_IFREG`.
    package let type: mode_t
    /// The permissions, with the set-ID and sticky bits.
    package let permissions: mode_t
    package let linkCount: Int
    private let owner: uid_t
    /// The length in bytes; a block device has none.
    package var byteCount: Int64
    /// True for a file with a size but no blocks: it is sparse, stored within its inode, or generated when it is read.
    package let hasNoBlocks: Bool
    /// The time of the last modification, in nanoseconds since 1970.
    package let modificationTime: Int64
    /// The time of the last status change, in nanoseconds since 1970; renaming and removing the file also update it.
    package let statusChangeTime: Int64
    /// The time of the last read or write, in nanoseconds since 1970, as far as the file system records it.
    package let lastUse: Int64

    /// Gets the status of an open file; returns nil, with the reason in `errno`, if the system does not report it.
    package init?(_ descriptor: CInt) {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return nil }
        self.init(status)
    }

    /// Gets the status of the file at a path, without opening it; returns nil, with the reason in `errno`, on failure.
    ///
    /// - Parameters:
    ///   - folder: The descriptor of the folder in which a relative path is looked up.
    ///   - followingLinks: False to get the status of a symbolic link itself.
    package init?(at path: UnsafePointer<CChar>, in folder: CInt = AT_FDCWD, followingLinks: Bool = true) {
        var status = stat()
        guard fstatat(folder, path, &status, followingLinks ? 0 : AT_SYMLINK_NOFOLLOW) == 0 else { return nil }
        self.init(status)
    }

    /// Gets the status of the file at a path, following links, without opening it: closing a descriptor of a database
    /// releases the locks of SQLite.
    package init(ofFileAt path: [UInt8]) throws(BlobError) {
        guard let status = FileStatus(at: path.cString) else {
            throw BlobError(
                systemError: errno, doing: "Could not get the attributes of \(String(decoding: path, as: UTF8.self))")
        }
        self = status
    }

    private init(_ status: stat) {
        self.identity = FileIdentity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
        (self.type, self.permissions) = (status.st_mode & S_IFMT, status.st_mode & ~S_IFMT)
        (self.linkCount, self.owner) = (Int(status.st_nlink), status.st_uid)
        (self.byteCount, self.hasNoBlocks) = (Int64(status.st_size), status.st_size > 0 && status.st_blocks == 0)
        self.modificationTime = status.modificationNanoseconds
        self.statusChangeTime = status.statusChangeNanoseconds
        self.lastUse = max(status.accessNanoseconds, status.modificationNanoseconds)
    }

    /// Returns true if both describe the same file, and it did not change in between.
    package static func == (left: Self, right: Self) -> Bool {
        left.hasContent(of: right) && left.statusChangeTime == right.statusChangeTime
    }

    /// Returns true if both describe the same file, and it was not written to in between; it may have been renamed or
    /// removed.
    package func hasContent(of other: Self) -> Bool {
        self.identity == other.identity && self.byteCount == other.byteCount
            && self.modificationTime == other.modificationTime
    }

    package var isRegular: Bool { self.type == S_IFREG }
    package var isFolder: Bool { self.type == S_IFDIR }

    /// True if the file belongs to the effective user of this process.
    package var isOwnedByUser: Bool { self.owner == geteuid() }

    /// True if only the effective user of this process may write to the file.
    package var isWritableOnlyByUser: Bool { self.isOwnedByUser && self.permissions & (S_IWGRP | S_IWOTH) == 0 }
}

/// The identity of a file in the system, independent of its name and content.
package struct FileIdentity: Hashable, Sendable {
    package let device: UInt64
    package let inode: UInt64
}
