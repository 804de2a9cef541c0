package import BlobCore
import BlobPlatform

/// A file with the indexes of all layers over one origin, in sections: restart points, member tables.
///
/// The file is a cache: an index that is stale, damaged, truncated or of another version counts as missing. The value
/// holds no open descriptor.
package struct IndexFile: Sendable {
    /// The path of the file, which need not exist.
    package let path: String

    let folder: IndexFolder?  // Nil for a file that the user named.
    let name: String
    let origin: String

    /// Determines the index file of an origin.
    ///
    /// - Parameters:
    ///   - policy: The place where indexes are kept.
    ///   - locator: The locator of the content, or of any layer over it: wrappers and selectors are ignored.
    /// - Returns: Nil when the policy is ``BlobIndexPolicy/none``, when a folder is given and no locator, or when the
    ///   user has no cache folder.
    package init?(_ policy: BlobIndexPolicy, for locator: BlobLocator?) {
        // The description, because it hides secrets, which must not be stored; the name of the file has a hash of them.
        self.origin = locator.map { String($0.origin.description.prefix(IndexTable.maximumTextByteCount / 4)) } ?? ""
        switch policy.place {
        case .none: return nil
        case .file(let path):
            self.folder = nil
            self.name = path
            self.path = path
            return
        case .folder, .automatic: break
        }
        guard let locator, let folder = IndexFolder(policy) else { return nil }
        self.folder = folder
        self.name = IndexFolder.fileName(origin: locator.origin.identity)
        self.path = "\(folder.path)/\(self.name)"
    }

    /// Returns the section with a key, if it is intact and was made from exactly this content.
    ///
    /// A section without ``IndexSection/Flags/hasOwnChecks`` has been read and verified. The caller reports by
    /// ``noteUse()`` or ``noteRefusal(_:)`` whether it is of use.
    ///
    /// - Parameter maximumByteCount: The length in bytes above which a section cannot be of this content: such a
    ///   section counts as damaged, and is not read.
    /// - Throws: Errors of reading the file. A damaged file is not an error.
    package func section(
        _ key: IndexSection.Key, for content: IndexedContent, atMost maximumByteCount: Int64 = .max
    ) throws(BlobError) -> IndexSection? {
        let (file, table): (IndexDescriptor, IndexTable)
        switch self.state() {
        case .nothing: return nil
        case .useless: return self.refuse("it is damaged, or of another version or source")
        case .foreignFile: return self.refuse(self.reasonOfForeignFile())
        case .unreadable(let error): throw error
        case .index(let foundFile, let foundTable): (file, table) = (foundFile, foundTable)
        }
        guard let entry = table.entries.first(where: { $0.key == key }) else { return nil }
        guard entry.content == content else { return self.refuse("it was made from other content") }
        guard entry.byteCount <= maximumByteCount else { return self.refuse(Self.isDamaged) }
        let section = IndexSection(file, entry)
        if !entry.flags.contains(.hasOwnChecks), try !section.isWhole() { return self.refuse(Self.isDamaged) }
        if self.folder != nil { file.markUsed() }
        return section
    }

    private func refuse(_ reason: String) -> IndexSection? {
        self.noteRefusal(reason)
        return nil
    }

    /// A reason for ``noteRefusal(_:)``.
    package static let isDamaged = "it is damaged"

    /// Reports that the index is used; called once its sections proved to be an index of the content.
    package func noteUse() { IndexNotice.used(path: self.path).send() }

    /// Reports that the index is not used, or no longer.
    ///
    /// - Parameter reason: The end of a sentence, as in ``IndexNotice/refused(path:reason:)``.
    package func noteRefusal(_ reason: String) { IndexNotice.refused(path: self.path, reason: reason).send() }

    private func reasonOfForeignFile() -> String {
        guard let file = try? IndexDescriptor(path: self.path), file.isRegular, file.isOwn else {
            return "it is not a file of this user"
        }
        guard let format = (try? ForeignIndex(file))?.format else { return "it is not an index" }
        return "it is one of \(format.rawValue), which 'blob index build --from' compares with the data"
    }

    /// True when anything exists at ``path``.
    package var exists: Bool { access(self.path, F_OK) == 0 }

    /// Returns all sections, whatever content they were made from; none when the file is missing, damaged or
    /// unreadable.
    package func sections() -> [IndexSection.Summary] {
        guard case .index(_, let table) = self.state() else { return [] }
        return table.entries.map {
            IndexSection.Summary(key: $0.key, byteCount: $0.byteCount, content: $0.content)
        }
    }

    /// Removes the file.
    ///
    /// - Returns: True when the file existed.
    /// - Throws: ``BlobError/Code/inconsistent`` when the file is not an index of this user, and errors of removing it.
    @discardableResult
    package func remove() throws(BlobError) -> Bool {
        if let folder { return try folder.open()?.remove(self.name) ?? false }
        if case .foreignFile = self.state() { throw self.foreignFile }
        if unlink(self.path) == 0 { return true }
        guard errno != ENOENT, errno != ENOTDIR else { return false }
        throw BlobError(systemError: errno, doing: "Could not remove \(self.path)")
    }

    /// Removes a file that turned out to be useless, unless the user named it. Ignores errors.
    package func discard() {
        if self.folder != nil { _ = try? self.remove() }
    }
}

extension IndexFile {
    /// The state of ``path``.
    enum State {
        case nothing
        case index(IndexDescriptor, IndexTable)
        /// An unusable index: damaged, truncated, of another version or of another origin.
        case useless
        /// A file that the user named, and that is not an index of this user.
        case foreignFile
        case unreadable(BlobError)
    }

    func state() -> State {
        do throws(BlobError) {
            if let folder {
                guard let file = try folder.open()?.file(self.name) else { return .nothing }
                let state = try self.state(of: file)
                if case .foreignFile = state { return .useless }
                return state
            }
            let file = try IndexDescriptor(path: self.path)
            return file.isRegular && file.isOwn ? try self.state(of: file) : .foreignFile
        } catch {
            return error.code == .notFound ? .nothing : .unreadable(error)
        }
    }

    private func state(of file: IndexDescriptor) throws(BlobError) -> State {
        guard file.byteCount > 0 else { return .nothing }
        do throws(BlobError) {
            let beginning = try file.read(at: 0, count: Int(min(file.byteCount, Int64(IndexTable.headByteCount))))
            guard beginning.starts(with: IndexTable.magic) else { return .foreignFile }
            guard beginning == IndexTable.head else { return .useless }
            let table = try Self.table(of: file)
            return self.folder == nil || table.origin == self.origin ? .index(file, table) : .useless
        } catch {
            guard error.code == .corrupted else { throw error }
            return .useless
        }
    }

    static func table(of file: IndexDescriptor) throws(BlobError) -> IndexTable {
        let byteCount = file.byteCount
        // Most tables are short enough to be fetched by this one read.
        let guess = Int(min(byteCount, Self.usualTailByteCount))
        var tail = try file.read(at: byteCount - Int64(guess), count: guess)
        let tableByteCount = try IndexTable.tableByteCount(
            foot: Array(tail.suffix(IndexTable.footByteCount)), byteCount: byteCount)
        let tailByteCount = tableByteCount + IndexTable.footByteCount
        let start = byteCount - Int64(tailByteCount)
        tail = tailByteCount <= guess ? tail.suffix(tailByteCount) : try file.read(at: start, count: tailByteCount)
        return try IndexTable(tail: Array(tail), at: start)
    }

    private static let usualTailByteCount: Int64 = 1024

    var foreignFile: BlobError {
        BlobError(
            .inconsistent, "\(self.path) is there already and is no index of this kind and user: it is left alone.",
            operation: "write")
    }
}
