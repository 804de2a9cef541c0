package import BlobCore
import BlobPlatform

/// An iteration over the members of an archive, and over the bytes of the current member.
protocol MemberWalker: AnyObject {
    /// The info of the archive when it was opened.
    var baseInfo: BlobInfo { get }

    /// True if the base is read from beginning to end.
    var isSequential: Bool { get }

    /// Advances to the next member; returns false at the end of the archive.
    func advance() throws(BlobError) -> Bool

    /// Announces that the bytes of members with a lower index will not be read; `Int.max` means that no bytes will be
    /// read. A walker for which headers alone cost less may then read several headers at once.
    func willRead(from index: Int)

    /// The index of the member in the archive's order, counting from 0; -1 before the first member.
    var index: Int { get }

    /// Returns true if the member has exactly this name. Cheaper than ``entry``.
    func isNamed(_ name: [UInt8]) -> Bool

    /// The facts in the header of the member; must be read before the member's bytes.
    var entry: ArchiveEntry { get }

    /// The position of the member for ``go(to:index:)``; nil if the member can be reached only by a pass over the
    /// archive.
    var entryOffset: Int64? { get }

    /// Makes the next ``advance()`` move to the member with this index at this position.
    ///
    /// Must not be called if ``isSequential`` is true.
    func go(to place: Int64, index: Int)

    /// The range of the member's bytes in the base, if they are stored unchanged and can be read from any offset; nil
    /// otherwise.
    ///
    /// Must be read before the member's bytes.
    var storedRange: Range<Int64>? { get }

    /// The name of the checksum that ``nextBlock()`` verifies before it returns the end; nil if it verifies no
    /// checksum.
    var check: String? { get }

    /// Returns the next bytes of the member, valid until the next call, and their offset in it; gaps between blocks
    /// represent zeros.
    ///
    /// At the end, returns an empty block and the length of the member.
    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64)

    /// Appends the next bytes of the member, which follow the previous bytes without a gap, straight from the base.
    ///
    /// - Returns: The number of bytes; 0 if ``nextBlock()`` must be used, because the bytes are in its buffer.
    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int

    /// Reads and discards the bytes of the member.
    func dropData() throws(BlobError)

    /// Reads a sequential base to its end after the last member, which runs its final checks.
    func finish() throws(BlobError)
}

extension MemberWalker {
    func isNamed(_ name: [UInt8]) -> Bool { self.entry.member.name == name }

    func willRead(from index: Int) {}

    /// Nil, because a member can be reached only by a pass over the archive.
    var entryOffset: Int64? { nil }

    func go(to place: Int64, index: Int) {
        preconditionFailure("This walker cannot jump to a member; it only reads sequentially.")
    }

    /// Nil, because the bytes can be read only through this walker.
    var storedRange: Range<Int64>? { nil }

    /// Nil, because the format has no checksums of members, or they are verified elsewhere.
    var check: String? { nil }

    /// Returns 0, because the bytes are always in a buffer.
    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int { 0 }

    func dropData() throws(BlobError) {
        while try !self.nextBlock().bytes.isEmpty {}
    }

    /// Advances to the next member and returns it; nil at the end of the archive.
    func next() throws(BlobError) -> ArchiveEntry? { try self.advance() ? self.entry : nil }

    /// Returns an empty block at an offset in the member, which marks the end of the member.
    func end(at byteOffset: Int64) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        (UnsafeRawBufferPointer(start: nil, count: 0), byteOffset)
    }
}

/// A walker that keeps the entry of its current member.
protocol EntryWalker: MemberWalker {
    /// The current member; nil before the first member.
    var current: ArchiveEntry? { get }
}

extension EntryWalker {
    var index: Int { self.current?.member.index ?? -1 }

    var entry: ArchiveEntry {
        guard let current else { preconditionFailure("There is no current member yet.") }
        return current
    }
}

/// A walker that wraps another walker and forwards to it by default.
protocol WalkerLayer: MemberWalker {
    var base: any MemberWalker { get }
}

extension WalkerLayer {
    var baseInfo: BlobInfo { self.base.baseInfo }
    var isSequential: Bool { self.base.isSequential }
    var index: Int { self.base.index }
    var entry: ArchiveEntry { self.base.entry }
    var entryOffset: Int64? { self.base.entryOffset }
    var storedRange: Range<Int64>? { self.base.storedRange }
    var check: String? { self.base.check }
    func isNamed(_ name: [UInt8]) -> Bool { self.base.isNamed(name) }
    func go(to place: Int64, index: Int) { self.base.go(to: place, index: index) }
    func willRead(from index: Int) { self.base.willRead(from: index) }
    func advance() throws(BlobError) -> Bool { try self.base.advance() }
    func finish() throws(BlobError) { try self.base.finish() }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.base.nextBlock()
    }
}

/// The facts in the header of a member.
struct ArchiveEntry {
    var member: BlobMember
    /// The number of names that share the bytes, if the format stores it; in a cpio, the bytes follow the last name.
    let linkCount: UInt32
    /// The error for skipped bytes before this or an earlier member, in which no header was found. They may have
    /// contained other members, so the index is uncertain.
    ///
    /// Nil if no bytes were skipped.
    var incompletenessError: BlobError?

    /// - Parameter warning: The warning about a header that was read nevertheless; nil without a warning.
    init(member: BlobMember, warning: String? = nil, linkCount: UInt32 = 1) {
        (self.member, self.linkCount) = (member, linkCount)
        self.member.headerFault = warning.flatMap { $0.isHarmless ? nil : $0 }
    }
}

extension BlobMember.Kind {
    /// The mask of the type in a mode, and the types of `stat(2)`.
    ///
    /// The values of AE_IFMT in archive_entry.h, which are the same on all systems, unlike the constants of the
    /// systems.
    static let (typeMask, regular, directoryType, linkType): (UInt32, UInt32, UInt32, UInt32) =
        (0o170000, 0o100000, 0o040000, 0o120000)

    /// Creates the kind of a member from a mode; a mode without a type denotes a file.
    init(mode: UInt32) {
        self =
            switch mode & Self.typeMask {
            case Self.regular, 0: .file
            case Self.directoryType: .directory
            case Self.linkType: .symbolicLink
            default: .special
            }
    }
}

extension BlobMember {
    /// True if the member has bytes of its own.
    var hasBytes: Bool {
        switch self.kind {
        case .file: true
        // pax and cpio may repeat the bytes after another name.
        case .hardLink: self.byteCount ?? 0 > 0
        case .directory, .symbolicLink, .special: false
        }
    }

    /// Throws ``BlobError/Code/unsupported`` if the member has no bytes of its own.
    func checkKind() throws(BlobError) {
        guard !self.hasBytes else { return }
        let what =
            switch self.kind {
            case .directory: "a directory"
            case .symbolicLink: "a symbolic link" + (self.linkTarget.map { " to '\(BlobMember.printable($0))'" } ?? "")
            case .hardLink: "a hard link that passes through too many other links"
            case .file, .special: "a device or other special file"
            }
        throw BlobError(.unsupported, "This member is \(what), and has no content to read.")
    }

    /// Throws ``BlobError/Code/inconsistent`` or ``BlobError/Code/corrupted`` if the header has a fault.
    package func checkHeader() throws(BlobError) {
        guard let headerFault else { return }
        throw BlobError(
            headerFault.containsText("nconsistent") ? .inconsistent : .corrupted,
            "The header of the member is not valid: \(headerFault.trimmingSuffix(".")).")
    }
}

extension String {
    /// True for a warning that does not concern the bytes: a name in an unknown encoding, or access control lists and
    /// attributes that are not supported.
    fileprivate var isHarmless: Bool {
        self.containsText("be converted") || self.containsText("acl") || self.containsText("ACL")
            || self.containsText("xattr")
    }
}

extension Date {
    /// The maximum distance from 1970, in seconds, at which a `Double` and a table of members represent every second.
    private static let maximumSeconds = 1e15

    /// Creates the time of a member; nil if it cannot be represented exactly, to the second, or the nanoseconds are
    /// out of range.
    init?(seconds: Int64, nanoseconds: Int64) {
        guard (0..<1_000_000_000).contains(nanoseconds) else { return nil }
        self.init(memberTime: Double(seconds) + Double(nanoseconds) / 1_000_000_000)
    }

    /// Creates the time of a member, in seconds since 1970; nil if it cannot be represented exactly, to the second.
    init?(memberTime seconds: Double) {
        guard abs(seconds) < Self.maximumSeconds else { return nil }
        self.init(timeIntervalSince1970: seconds)
    }
}
