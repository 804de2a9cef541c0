public import BlobCore
public import BlobPlatform

/// The name and the attributes of an entry of a zip.
public struct ZipEntry: Hashable, Sendable {
    /// The maximum length of a name or a comment in bytes: the largest number in its 16-bit field.
    static let maximumTextByteCount = 65_535

    /// The path in the zip, with slashes between folders: any bytes but zero bytes. A name that is UTF-8 and not ASCII
    /// is marked as such.
    public var name: [UInt8]

    /// The time of the last modification; nil to store none, which readers show as 1980-01-01.
    ///
    /// Stored in UTC, because the same entry must have the same bytes everywhere: as a time of the Unix epoch if it is
    /// between 1901 and 2038, and with a precision of two seconds from 1980 to 2107 in the oldest field.
    public var modificationTime: Date?

    /// The permissions, twelve bits as in `chmod(2)`; nil for 0644, or 0755 for a folder.
    public var permissions: UInt16?

    /// A comment, at most 65,535 bytes of UTF-8.
    public var comment: String

    /// The CRC-32 of the bytes, if it is known: the entry is then stored as it is. It is compared when the entry is
    /// read from its first byte to its last.
    public var checksum: UInt32?

    /// Creates an entry.
    public init(
        _ name: String, modificationTime: Date? = nil, permissions: UInt16? = nil, comment: String = "",
        checksum: UInt32? = nil
    ) {
        (self.name, self.modificationTime, self.permissions) = (Array(name.utf8), modificationTime, permissions)
        (self.comment, self.checksum) = (comment, checksum)
    }

    /// Creates an entry whose name need not be UTF-8.
    public init(name: [UInt8]) {
        self.init("")
        self.name = name
    }

    /// Creates an entry with the name, the attributes and the CRC-32 of a member of a container. A leading `./` is
    /// omitted from the name.
    public init(_ member: BlobMember) {
        self.init("", modificationTime: member.modificationTime, permissions: member.permissions)
        self.name = Array(member.name.trimmingPrefix("./".utf8))
        // `crc32:1a2b3c4d`.
        guard let text = member.checksum, text.hasPrefix("crc32:") else { return }
        self.checksum = UInt32(text.dropFirst(6), radix: 16)
    }

    /// Returns this entry with the modification time and the permissions of a file where it has none.
    package func completed(by path: [UInt8]?) -> ZipEntry {
        guard let path, let status = FileStatus(at: path.cString) else { return self }
        var entry = self
        let time = Date(timeIntervalSince1970: Double(status.modificationTime) / 1_000_000_000)
        entry.modificationTime = self.modificationTime ?? time
        entry.permissions = self.permissions ?? UInt16(status.permissions & 0o7777)
        return entry
    }

    /// Rejects names that readers would refuse, change or follow out of the folder that they extract to.
    func check() throws(BlobError) {
        let slash = UInt8(ascii: "/")
        let reason: String? =
            if self.name.isEmpty || self.name.allSatisfy({ $0 == slash }) {
                "is empty"
            } else if self.name.first == slash {
                "is an absolute path"
            } else if self.name.contains(0) {
                "contains a zero byte"
            } else if self.name.split(separator: slash).contains(where: { $0.elementsEqual("..".utf8) }) {
                "leads out of its folder"
            } else {
                nil
            }
        if let reason {
            throw BlobError(.invalidArgument, "The name of an entry \(reason): '\(self.label)'.")
        }
        guard max(self.name.count, self.comment.utf8.count) <= Self.maximumTextByteCount else {
            throw BlobError(
                .limitExceeded,
                "The name or the comment of the entry '\(self.label.prefix(100))' has more bytes than the limit of "
                    + "\(Self.maximumTextByteCount).")
        }
    }

    /// The name for messages.
    var label: String { BlobMember.printable(self.name) }

    /// True if the entry must be marked as UTF-8. The mark applies to the name and the comment.
    var isMarkedUTF8: Bool {
        let text = self.name + self.comment.utf8
        return !text.allSatisfy { $0 < 0x80 } && String(validating: text, as: UTF8.self) != nil
    }
}
