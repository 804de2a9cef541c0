package import BlobCore
import BlobDeflate
import BlobPlatform

/// A file with the indexes of all layers over one origin, stored in sections, such as restart points and member tables.
///
/// The file is a cache: an index that is stale, damaged, truncated or from another version is treated as missing. The
/// value holds no open descriptor.
package struct IndexFile: Sendable {
    /// The path of the file, which need not exist.
    package let path: String

    let folder: IndexFolder?  // Nil for a file that the user named.
    private let name: String
    private let origin: String

    /// The maximum length of a path of layers that has an index, in bytes of UTF-8.
    private static let maximumLayerByteCount = 4096

    /// Determines the index file of an origin.
    ///
    /// - Parameters:
    ///   - policy: The policy that determines where indexes are stored.
    ///   - locator: The locator of the content, or of any layer over it: wrappers and selectors are ignored.
    ///   - layer: The path of the layers of an index that is stored in the file, as in ``IndexSection/Key/layer``.
    /// - Returns: Nil if the policy is ``BlobIndexPolicy/none``, if the policy names a folder and the locator is nil,
    ///   if the user has no cache folder, or if the path of the layers is longer than 4096 bytes.
    package init?(_ policy: BlobIndexPolicy, for locator: BlobLocator?, layer: String = "") {
        guard layer.utf8.count <= Self.maximumLayerByteCount else { return nil }
        // The description, because it hides secrets, which must not be stored; the file name contains their hash.
        self.origin = locator.map { String($0.origin.description.prefix(IndexSection.maximumTextByteCount / 4)) } ?? ""
        if case .file(let path) = policy.place {
            (self.folder, self.name, self.path) = (nil, path, path)
            return
        }
        guard let locator, let folder = IndexFolder.folder(for: policy) else { return nil }
        self.folder = folder
        self.name = IndexFolder.fileName(origin: locator.origin.identity)
        self.path = "\(folder.path)/\(self.name)"
    }

    /// True if anything exists at ``path``.
    package var exists: Bool { access(self.path, F_OK) == 0 }

    // MARK: Reading

    /// Returns the section with a key, if it is intact and was made from exactly this content.
    ///
    /// A section without ``IndexSection/Flags/hasOwnChecks`` has been read and verified. The caller reports an unusable
    /// section with ``reportRefusal(_:)``.
    ///
    /// - Parameter maximumByteCount: The maximum length of a section of this content in bytes; a longer section is
    ///   treated as damaged and is not read.
    /// - Throws: Errors of reading the file. A damaged file is not an error.
    package func section(
        _ key: IndexSection.Key, for content: IndexedContent, atMost maximumByteCount: Int64 = .max
    ) throws(BlobError) -> IndexSection? {
        let (file, table): (IndexDescriptor, IndexTable)
        switch self.state() {
        case .nothing: return nil
        case .unusable: return self.refuse("it is damaged, or belongs to another version or source")
        case .otherFile: return self.refuse(self.reasonOfOtherFile())
        case .unreadable(let error): throw error
        case .index(let foundFile, let foundTable): (file, table) = (foundFile, foundTable)
        }
        guard let entry = table.entries.first(where: { $0.key == key }) else { return nil }
        guard entry.content == content else { return self.refuse("it was created from different content") }
        guard entry.byteCount <= maximumByteCount else { return self.refuse(Self.damageReason) }
        let section = IndexSection(file, entry)
        if !entry.flags.contains(.hasOwnChecks), try section.wholeBytes() == nil {
            return self.refuse(Self.damageReason)
        }
        if self.folder != nil { file.markUsed() }
        return section
    }

    /// Returns the index that `decode` creates from a section; nil if the section is missing or damaged.
    ///
    /// - Parameter maximumByteCount: See ``section(_:for:atMost:)``.
    /// - Throws: Errors of reading the file.
    package func load<Index>(
        _ key: IndexSection.Key, for content: IndexedContent, atMost maximumByteCount: Int64 = .max,
        _ decode: ([UInt8]) throws -> Index?
    ) throws(BlobError) -> Index? {
        guard let section = try self.section(key, for: content, atMost: maximumByteCount) else { return nil }
        guard let index = try? decode(try section.bytes()) else {
            self.reportRefusal(Self.damageReason)
            return nil
        }
        IndexNotice.used(path: self.path).send()
        return index
    }

    private func refuse(_ reason: String) -> IndexSection? {
        self.reportRefusal(reason)
        return nil
    }

    /// A reason for ``reportRefusal(_:)``.
    package static let damageReason = "it is damaged"

    /// Reports that the index is not used, or is no longer used.
    ///
    /// - Parameter reason: The end of a sentence, as in ``IndexNotice/refused(path:reason:)``.
    package func reportRefusal(_ reason: String) { IndexNotice.refused(path: self.path, reason: reason).send() }

    private func reasonOfOtherFile() -> String {
        guard let file = try? IndexDescriptor(self.path), file.status.isRegular, file.status.isOwnedByUser else {
            return "it is not a file that belongs to this user"
        }
        guard let format = (try? ToolIndex(file))?.format else { return "it is not an index" }
        return "it was written by \(format.rawValue); 'blob index build --from' compares it with the data"
    }

    /// Returns the index that another tool wrote to the path of this file; nil if the file is not such an index.
    ///
    /// The user must have named the file and own it. The file is never changed.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a truncated or inconsistent file; ``BlobError/Code/unsupported`` for
    ///   a newer version; errors of reading the file.
    package func toolIndex() throws(BlobError) -> ToolIndex? {
        guard self.folder == nil else { return nil }
        let file: IndexDescriptor
        do throws(BlobError) {
            file = try IndexDescriptor(self.path)
        } catch {
            guard error.code == .notFound else { throw error }
            return nil
        }
        guard file.status.isRegular, file.status.isOwnedByUser else { return nil }
        return try ToolIndex(file)
    }

    /// Returns all sections, regardless of their content; empty if the file is missing, damaged or unreadable.
    package func sections() -> [IndexSection.Entry] {
        if case .index(_, let table) = self.state() { table.entries } else { [] }
    }

    /// Returns the kinds of the sections whose checksum is wrong, of those whose records have no checksums of their own.
    ///
    /// - Throws: Errors of reading the file.
    package func damagedKinds() throws(BlobError) -> [IndexSection.Kind] {
        guard case .index(let file, let table) = self.state() else { return [] }
        var kinds: [IndexSection.Kind] = []
        for entry in table.entries where !entry.flags.contains(.hasOwnChecks) {
            if try IndexSection(file, entry).wholeBytes() == nil { kinds.append(entry.key.kind) }
        }
        return kinds
    }

    /// The state of ``path``.
    private enum State {
        case nothing
        case index(IndexDescriptor, IndexTable)
        /// An unusable index: damaged, truncated, from another version or for another origin.
        case unusable
        /// A file that the user specified, but that is not an index or is not owned by the user.
        case otherFile
        case unreadable(BlobError)
    }

    private func state() -> State {
        do throws(BlobError) {
            if let folder {
                guard let file = try folder.open()?.file(self.name) else { return .nothing }
                let state = try self.state(of: file)
                if case .otherFile = state { return .unusable }
                return state
            }
            let file = try IndexDescriptor(self.path)
            return file.status.isRegular && file.status.isOwnedByUser ? try self.state(of: file) : .otherFile
        } catch {
            return error.code == .notFound ? .nothing : .unreadable(error)
        }
    }

    private func state(of file: IndexDescriptor) throws(BlobError) -> State {
        guard file.byteCount > 0 else { return .nothing }
        do throws(BlobError) {
            let beginning = try file.read(at: 0, count: Int(min(file.byteCount, Int64(IndexTable.headByteCount))))
            guard beginning.starts(with: IndexTable.magic) else { return .otherFile }
            guard beginning == IndexTable.head else { return .unusable }
            let table = try IndexTable(of: file)
            return self.folder == nil || table.origin == self.origin ? .index(file, table) : .unusable
        } catch {
            guard error.code == .corrupted else { throw error }
            return .unusable
        }
    }

    // MARK: Content

    /// Returns the identity of the current content of `base`, under which this file stores its sections.
    ///
    /// A file that the user named is also valid for a copy of the content, or after `touch`. In that case, returns the
    /// identity of the content from which the sections were made, if the length, both ends and 32 parts between them
    /// are the same. This suffices, because the sections are verified during use.
    ///
    /// - Returns: Nil if ``IndexedContent/read(from:_:)`` returns nil.
    /// - Throws: Errors of opening and reading `base`.
    /// - Complexity: See ``IndexedContent/read(from:_:)``; for a copy, opens `base` 32 more times.
    package func content(
        of base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> IndexedContent? {
        guard let content = try IndexedContent.read(from: base, context) else { return nil }
        guard self.folder == nil, case .index(let file, let table) = self.state(),
            !table.entries.contains(where: { $0.content == content })
        else { return content }
        var current: ContentSamples?
        for entry in table.entries where entry.key.kind == .parts && entry.content.isLike(content) {
            guard let bytes = try IndexSection(file, entry).wholeBytes(),
                let known = try? ContentSamples(decoding: bytes)
            else { continue }
            let parts: ContentSamples
            if let current { parts = current } else { parts = try ContentSamples(of: base, content.byteCount, context) }
            current = parts
            if parts == known { return entry.content }
        }
        return content
    }

    /// Returns the section by which copies of the content are recognised. The array is empty if the user did not name
    /// the file, or if the file already has such a section.
    ///
    /// - Parameters:
    ///   - base: The source whose content is `content`.
    ///   - layer: The layer of the sections that are written with it.
    /// - Throws: Errors of opening and reading `base`.
    package func proof(
        of content: IndexedContent, _ base: any BlobInputStreamDataSource, layer: String, _ context: BlobContext
    ) throws(BlobError) -> [NewIndexSection] {
        guard self.folder == nil, !self.sections().contains(where: { $0.key.kind == .parts && $0.content == content })
        else { return [] }
        let parts = try ContentSamples(of: base, content.byteCount, context)
        return [NewIndexSection(IndexSection.Key(layer: layer, kind: .parts), bytes: parts.encoded)]
    }

    // MARK: Writing

    /// Writes sections, and preserves the file's sections with other keys.
    ///
    /// The file is replaced atomically: readers see the previous file or the new one. Of two concurrent writers, the
    /// last one wins. Afterwards, other files are removed from the folder until its total size is within the limit.
    ///
    /// - Parameters:
    ///   - sections: At most 256 sections with different keys, written in this order.
    ///   - content: The content that the sections were made from.
    ///   - isReplacing: True if a file that the user named may be replaced. If false and the file exists, nothing is
    ///     written, unless this process wrote the file with `isReplacing` false.
    /// - Throws: ``BlobError/Code/inconsistent`` if the file that the user named exists and is not an index of this
    ///   user, ``BlobError/Code/limitExceeded`` if the file would exceed the limit of its folder; errors of writing.
    ///   After an error, the previous file is unchanged.
    /// - Complexity: O(bytes of the file), in bounded memory.
    package func write(
        _ sections: [NewIndexSection], for content: IndexedContent, isReplacing: Bool = true
    ) throws(BlobError) {
        precondition(
            sections.count <= IndexTable.maximumSectionCount, "An index file must not have more than 256 sections.")
        guard isReplacing || self.folder != nil || !self.exists || OwnFiles.contains(self.path) else { return }
        let state = self.state()
        switch state {
        case .otherFile: throw self.otherFileError
        case .unreadable(let error) where self.folder == nil: throw error
        default: break
        }
        let folder = try self.folder?.create()
        let file: AtomicFile
        if let folder { file = try folder.newFile(self.name) } else { file = try AtomicFile(path: self.path) }
        defer { file.discard() }
        var output = IndexOutput(file, maximumByteCount: self.folder?.maximumByteCount ?? .max)
        var table = IndexTable(origin: self.origin)
        try output.append(IndexTable.head)
        for section in sections {
            precondition(!table.entries.contains { $0.key == section.key }, "Two sections must not have the same key.")
            table.entries.append(
                try output.appendSection(section.key, section.flags, content) { output throws(BlobError) in
                    try section.produce { bytes throws(BlobError) in try output.append(bytes) }
                })
        }
        if case .index(let old, let oldTable) = state {
            try table.copy(oldTable.entries, of: old, to: &output)
        }
        try output.append(table.tail(at: output.byteOffset))
        try file.commit()
        folder?.evict(keeping: self.name)
        if self.folder == nil, !isReplacing { OwnFiles.register(self.path) }
        IndexNotice.built(path: self.path).send()
    }

    /// Removes the file.
    ///
    /// - Returns: True if the file existed.
    /// - Throws: ``BlobError/Code/inconsistent`` if the file is not an index of this user; errors of removing it.
    @discardableResult
    package func remove() throws(BlobError) -> Bool {
        if let folder { return try folder.open()?.remove(self.name) ?? false }
        if case .otherFile = self.state() { throw self.otherFileError }
        if unlink(self.path) == 0 { return true }
        guard errno != ENOENT, errno != ENOTDIR else { return false }
        throw BlobError(systemError: errno, doing: "Could not remove \(self.path)")
    }

    /// Removes a file that turned out to be unusable, unless the user named it. Ignores errors.
    package func discard() {
        if self.folder != nil { _ = try? self.remove() }
    }

    private var otherFileError: BlobError {
        BlobError(
            .inconsistent,
            "\(self.path) already exists and is not an index of this kind that belongs to this user; left unchanged.",
            operation: "write")
    }
}

/// The files that the user named and this process created, to which later reads may add sections.
private enum OwnFiles {
    private static let statuses = Locked<[String: FileStatus]>([:])

    /// Returns true for a file that is as this process left it. Another file may have its path and, once the first one
    /// is removed, its number in the file system.
    static func contains(_ path: String) -> Bool {
        guard let status = self.statuses.withLock({ $0[path] }) else { return false }
        return FileStatus(at: path) == status
    }

    static func register(_ path: String) { self.statuses.withLock { $0[path] = FileStatus(at: path) } }
}

/// An output to an index file that counts bytes and computes checksums.
private struct IndexOutput: ~Copyable {
    private let file: AtomicFile
    private let maximumByteCount: Int64
    private(set) var byteOffset: Int64 = 0
    private var sum = CRC32()

    init(_ file: AtomicFile, maximumByteCount: Int64) {
        (self.file, self.maximumByteCount) = (file, maximumByteCount)
    }

    /// Returns true if `byteCount` more bytes fit within the limit.
    func hasRoom(for byteCount: Int64) -> Bool { byteCount <= self.maximumByteCount - self.byteOffset }

    /// Appends bytes.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded``, and errors of writing.
    mutating func append(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        guard self.hasRoom(for: Int64(bytes.count)) else {
            throw BlobError(
                .limitExceeded, "The index is larger than the limit of \(self.maximumByteCount) bytes.",
                operation: "write")
        }
        self.byteOffset += Int64(bytes.count)
        self.sum.update(bytes)
        try self.file.write(bytes)
    }

    mutating func append(_ bytes: [UInt8]) throws(BlobError) {
        try bytes.withBytes { bytes throws(BlobError) in try self.append(bytes) }
    }

    /// Appends the section whose bytes `body` appends; returns its entry in the table.
    mutating func appendSection(
        _ key: IndexSection.Key, _ flags: IndexSection.Flags, _ content: IndexedContent,
        _ body: (inout IndexOutput) throws(BlobError) -> Void
    ) throws(BlobError) -> IndexSection.Entry {
        let start = self.byteOffset
        self.sum = CRC32()
        try body(&self)
        return IndexSection.Entry(
            key: key, flags: flags, content: content, byteOffset: start, byteCount: self.byteOffset - start,
            checksum: self.sum.value)
    }
}

extension IndexTable {
    /// Copies the intact sections that are not in the table yet and that fit.
    fileprivate mutating func copy(
        _ entries: [IndexSection.Entry], of file: IndexDescriptor, to output: inout IndexOutput
    ) throws(BlobError) {
        for entry in entries where self.entries.count < Self.maximumSectionCount {
            let range = entry.byteOffset..<(entry.byteOffset + entry.byteCount)
            var larger = self
            larger.entries.append(entry)
            guard !self.entries.contains(where: { $0.key == entry.key }),
                output.hasRoom(for: entry.byteCount + Int64(larger.tail(at: 0).count)),
                (try? file.checksum(of: range)) == entry.checksum
            else { continue }
            self.entries.append(
                try output.appendSection(entry.key, entry.flags, entry.content) { output throws(BlobError) in
                    try file.forEachChunk(in: range) { chunk throws(BlobError) in try output.append(chunk) }
                })
        }
    }
}

/// An event of an index file, reported to the user. ``BlobEvent`` reports new indexes to a job, without paths.
package enum IndexNotice: Hashable, Sendable {
    case built(path: String)
    case used(path: String)
    /// An index was not used. The reason ends a sentence: `it is damaged`.
    case refused(path: String, reason: String)

    private static let observer = Locked<(@Sendable (IndexNotice) -> Void)?>(nil)

    /// Sets the observer of all index files of the process, which is called on any thread.
    package static func observe(_ observer: @escaping @Sendable (IndexNotice) -> Void) {
        self.observer.withLock { $0 = observer }
    }

    fileprivate func send() { Self.observer.withLock { $0 }?(self) }
}
