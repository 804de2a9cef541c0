package import BlobCore
import BlobPlatform

/// The facts in the header of a member.
struct ArchiveEntry {
    var member: BlobMember
    /// The number of names that share the bytes, if the format tells; in a cpio, the last of them has the bytes.
    let linkCount: UInt32
    /// The error of bytes before this member, or before an earlier one, in which a reader found no header: there may have
    /// been other members, and the index is uncertain. Nil when it passed over none.
    var gap: BlobError?

    /// - Parameter warning: The warning about a header that was read in spite of it; nil when there is none.
    init(member: BlobMember, warning: String?, linkCount: UInt32) {
        var member = member
        member.headerFault = warning.flatMap { $0.isHarmless ? nil : $0 }
        (self.member, self.linkCount) = (member, linkCount)
    }

    /// True when the member has bytes of its own.
    var hasBytes: Bool {
        switch self.member.kind {
        case .file: true
        // pax and cpio may repeat the bytes after a further name.
        case .hardLink: self.member.byteCount ?? 0 > 0
        case .directory, .symbolicLink, .special: false
        }
    }

    /// Throws ``BlobError/Code/unsupported`` when the member has no bytes of its own.
    func checkKind() throws(BlobError) {
        guard !self.hasBytes else { return }
        let what =
            switch self.member.kind {
            case .directory: "a directory"
            case .symbolicLink: "a symbolic link to '\(BlobMember.printable(self.member.linkTarget ?? []))'"
            case .hardLink: "a hard link that leads through too many others"
            case .file, .special: "a device or another special file"
            }
        throw BlobError(.unsupported, "This member is \(what), and has no bytes to read.")
    }
}

extension BlobMember {
    /// Throws when the header has a fault: ``BlobError/Code/inconsistent`` or ``BlobError/Code/corrupted``.
    package func checkHeader() throws(BlobError) {
        guard let headerFault else { return }
        throw BlobError(
            headerFault.holds("nconsistent") ? .inconsistent : .corrupted,
            "The header of this member is not sound: \(headerFault)")
    }
}

extension String {
    /// True for a warning that does not concern the bytes: a name in no known encoding, or access control lists and
    /// attributes that are not read.
    fileprivate var isHarmless: Bool {
        self.holds("be converted") || self.holds("acl") || self.holds("ACL") || self.holds("xattr")
    }
}
