public import BlobCore
import BlobDeflate
public import BlobPlatform
import CryptoDigest
import FileSource

/// Composes a zip from any sources. Append the entries, then create the body with ``body(name:context:)``.
///
/// ```swift
/// var zip = ZipComposer()
/// try zip.appendEntry(ZipEntry("holiday/beach.jpg"), fileURL: photo)
/// try zip.appendEntry(ZipEntry("notes.txt"), source: backup)
/// let body = try zip.body()
/// ```
///
/// Entries are stored, not compressed. They are read only when the body is read, and never stored as a whole in memory
/// or in a temporary file.
public struct ZipComposer: Sendable {
    /// A comment on the zip, at most 65,535 bytes of UTF-8.
    public var comment = ""
    /// The maximum number of sources that are queried at once.
    private static let queryCount = 16

    private var items: [Item] = []
    private var names: Set<[UInt8]> = []

    private struct Item: Sendable {
        let entry: ZipEntry
        let kind: PlannedEntry.Kind
        let source: any BlobInputStreamDataSource
    }

    /// Creates a zip without entries.
    public init() {}

    /// The number of entries.
    public var entryCount: Int { self.items.count }

    // MARK: Entries

    /// Appends the bytes of any source as an entry.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a name that readers refuse (empty, absolute, with `..` or a zero
    ///   byte), and for the name of an earlier entry; ``BlobError/Code/limitExceeded`` for a name that is too long.
    public mutating func appendEntry(
        _ entry: ZipEntry, source: any BlobInputStreamDataSource
    ) throws(BlobError) {
        try self.append(entry, .file, source)
    }

    /// Appends a file, with its modification time and its permissions unless the entry specifies others.
    ///
    /// - Throws: As ``appendEntry(_:source:)``; ``BlobError/Code/invalidArgument`` if the URL is not a file URL.
    public mutating func appendEntry(_ entry: ZipEntry, fileURL: URL) throws(BlobError) {
        guard fileURL.isFileURL else {
            throw BlobError(
                .invalidArgument, "The URL must be a file URL, but its scheme is '\(fileURL.scheme ?? "")'.")
        }
        let source = FileSource(url: fileURL)
        try self.append(entry.completed(by: source.locator?.filePath), .file, source)
    }

    /// Appends a folder, which needs no entry unless it is empty or has attributes. A slash is added to its name.
    ///
    /// - Throws: As ``appendEntry(_:source:)``.
    public mutating func appendFolder(_ entry: ZipEntry) throws(BlobError) {
        var entry = entry
        if entry.name.last != UInt8(ascii: "/") { entry.name.append(UInt8(ascii: "/")) }
        try self.append(entry, .folder, MemorySource([]))
    }

    /// Appends a symbolic link, whose target is not checked.
    ///
    /// - Throws: As ``appendEntry(_:source:)``.
    public mutating func appendLink(_ entry: ZipEntry, target: [UInt8]) throws(BlobError) {
        // With an identity of all its bytes, because a CRC-32 alone does not distinguish two targets.
        try self.append(entry, .link, MemorySource(target, validator: .strong("link-\(target.hexadecimal)")))
    }

    /// Appends members of a container, such as all of an archive: files, folders and symbolic links with their
    /// attributes. A hard link becomes a copy of its file.
    ///
    /// - Parameters:
    ///   - container: The container.
    ///   - context: The context for listing the members.
    ///   - makeEntry: A closure that returns the entry of a member, by default ``ZipEntry/init(_:)``, or nil to leave
    ///     the member out.
    /// - Throws: As ``appendEntry(_:source:)``; ``BlobError/Code/unsupported`` for a device or the like; the errors of
    ///   listing.
    public mutating func appendMembers(
        of container: any BlobContainer, context: BlobContext = BlobContext(),
        _ makeEntry: (BlobMember) -> ZipEntry? = { ZipEntry($0) }
    ) throws(BlobError) {
        var zip = self  // No member is appended if one is rejected.
        try BlobError.wrapping {
            try container.forEachMember(context) { member in
                guard var entry = makeEntry(member), !entry.name.isEmpty else { return true }
                switch member.kind {
                case .file, .hardLink:
                    if member.kind == .hardLink { entry.checksum = nil }
                    try zip.appendEntry(entry, source: container.member(.index(member.index), context: context))
                case .directory: try zip.appendFolder(entry)
                case .symbolicLink: try zip.appendLink(entry, target: member.linkTarget ?? [])
                case .special:
                    throw BlobError(.unsupported, "The member '\(entry.label)' is a device or the like.")
                }
                return true
            }
        }
        self = zip
    }

    private mutating func append(
        _ entry: ZipEntry, _ kind: PlannedEntry.Kind, _ source: any BlobInputStreamDataSource
    ) throws(BlobError) {
        try entry.check()
        guard kind == .folder || entry.name.last != UInt8(ascii: "/") else {
            throw BlobError(
                .invalidArgument, "The name of an entry that is not a folder ends with '/': '\(entry.label)'.")
        }
        guard self.names.insert(entry.name).inserted else {
            // A folder may be listed by several sources.
            if kind == .folder { return }
            throw BlobError(.invalidArgument, "Two entries have the name '\(entry.label)'.")
        }
        self.items.append(Item(entry: entry, kind: kind, source: source))
    }

    // MARK: Body

    /// Returns the zip of the entries appended so far, and fixes the length, the form and the identity of each.
    ///
    /// Queries the info of each source, which may block.
    ///
    /// - Parameters:
    ///   - name: A name for the zip; nil for none.
    ///   - context: The context for the queries, whose index policy applies to computed checksums.
    /// - Throws: The errors of the queries; ``BlobError/Code/limitExceeded`` for a comment that is too long.
    public func body(name: String? = nil, context: BlobContext = BlobContext()) throws(BlobError) -> ZipBody {
        let comment = Array(self.comment.utf8)
        guard comment.count <= ZipEntry.maximumTextByteCount else {
            throw BlobError(
                .limitExceeded,
                "The comment has \(comment.count) bytes, more than the limit of \(ZipEntry.maximumTextByteCount).")
        }
        var identity = ZipIdentity()
        identity.append(comment)
        // Many sources on a network are queried at once; all others one after the other, which is faster.
        let isRemote = self.items.contains { $0.source.traits.contains(.preparable) }
        let pipeline = OrderedPipeline<Item, PlannedEntry>(
            threadCount: isRemote ? Self.queryCount : 1, window: Self.queryCount, on: .openings, context: context
        ) { try Self.plan($0, context) }
        var (entries, rest): ([PlannedEntry], ArraySlice<Item>) = ([], self.items[...])
        entries.reserveCapacity(rest.count)
        try BlobError.wrapping {
            while let entry = try pipeline.next({ rest.popFirst() }) {
                identity.append(entry)
                entries.append(entry)
            }
        }
        return ZipBody(
            try ZipContents(entries, comment: comment, validator: identity.finish(), context), name: name)
    }

    private static func plan(_ item: Item, _ context: BlobContext) throws(BlobError) -> PlannedEntry {
        let info: BlobInfo
        do {
            info = try item.source.info(context)
        } catch {
            throw error.replacingMessage("Entry '\(item.entry.label)': \(error.message)")
        }
        var checksum = item.entry.checksum
        if info.byteCount == 0 { checksum = 0 }
        if item.kind == .link {
            checksum =
                CRC32(of: Array(try item.source.data(upTo: ZipEntry.maximumTextByteCount, context: context))).value
        }
        if checksum == nil, let stated = info.digests.first(where: { $0.algorithm == "crc32" }) {
            checksum = stated.value.reduce(UInt32(0)) { $0 << 8 | UInt32($1) }
        }
        return PlannedEntry(
            entry: item.entry, kind: item.kind, source: item.source, byteCount: info.byteCount,
            validator: info.validator, isRandomAccess: info.isRandomAccess,
            // Without a length, the header cannot say where the data ends.
            checksum: info.byteCount == nil ? nil : checksum)
    }
}

/// The identity of a zip: the digest of everything that its bytes depend on.
private struct ZipIdentity {
    /// Nil without the trait `Crypto`.
    private var hasher = CryptoDigest.all.first?.makeHasher()
    private var isStrong = true

    mutating func append(_ entry: PlannedEntry) {
        // The length is not part of the header of an entry whose checksum follows.
        var record = ZipRecord()
        record.append64(entry.byteCount ?? -1)
        let content = EntryContent(byteCount: entry.byteCount ?? 0, checksum: entry.checksum ?? 0)
        self.append(record.bytes + entry.header + entry.directoryRecord(content, at: 0))
        guard entry.byteCount != 0 else { return }
        guard let validator = entry.validator else { return self.hasher = nil }
        self.append(Array(validator.text.utf8))
        self.isStrong = self.isStrong && validator.isStrong
    }

    mutating func append(_ bytes: [UInt8]) {
        // Hashed with their length, so that they cannot be confused with the bytes that follow.
        withUnsafeBytes(of: UInt64(bytes.count).littleEndian) { self.hasher?.update($0) }
        bytes.withUnsafeBytes { self.hasher?.update($0) }
    }

    mutating func finish() -> BlobValidator? {
        guard let digest = self.hasher?.finalizeHexadecimal() else { return nil }
        return self.isStrong ? .strong("zip-\(digest)") : .weak("zip-\(digest)")
    }
}
