package import BlobStreams
import Foundation

/// The one file that holds what is known of everything over one origin, in sections: restart points, member tables.
///
/// A cache: what is stale, damaged, cut or of another version is as good as missing. A value that holds nothing open.
package struct IndexFile: Sendable {
    /// Where the file is, or would be.
    package let path: String

    let folder: IndexFolder?  // Nil for a file that the user named.
    let name: String
    let origin: String

    /// - Parameters:
    ///   - policy: Where indexes are kept.
    ///   - locator: Of the content, or of any layer over it: wrappers and selectors do not count.
    /// - Returns: Nil when there is to be no index: by policy, or because a folder needs a locator, or because the user
    ///   has no cache folder.
    package init?(_ policy: BlobIndexPolicy, for locator: BlobLocator?) {
        // The description, because a password has no place on a disk.
        self.origin = locator.map { String($0.origin.description.prefix(IndexTable.maximumTextByteCount / 4)) } ?? ""
        let folder: IndexFolder
        switch policy {
        case .none: return nil
        case .file(let path):
            self.folder = nil
            self.name = path
            self.path = path
            return
        case .folder(let path, let maximumByteCount):
            folder = IndexFolder(path: path, maximumByteCount: maximumByteCount)
        case .automatic:
            guard let automatic = IndexFolder.automatic(environmentVariable) else { return nil }
            folder = automatic
        }
        guard let locator else { return nil }
        self.folder = folder
        self.name = IndexFolder.fileName(origin: locator.origin.description)
        self.path = "\(folder.path)/\(self.name)"
    }

    /// The section of this key, when there is one that was made from exactly this content and is whole.
    ///
    /// A section without ``IndexSection/Flags/hasOwnChecks`` has been read and verified.
    ///
    /// - Throws: What keeps the file from being read, so that nobody knows whether it is of use.
    package func section(_ key: IndexSection.Key, for content: IndexedContent) throws(BlobError) -> IndexSection? {
        let state = self.state()
        if case .unreadable(let error) = state { throw error }
        guard case .index(let file, let table) = state, let entry = table.entries.first(where: { $0.key == key }),
            entry.content == content
        else { return nil }
        let section = IndexSection(file, entry)
        if !entry.flags.contains(.hasOwnChecks), try !section.isWhole() { return nil }
        if self.folder != nil { file.markUsed() }
        return section
    }

    /// Whether something is there, whatever it is.
    package var exists: Bool { access(self.path, F_OK) == 0 }

    /// What is in the file, whatever content it was made from; nothing when there is no file or it is damaged.
    package func sections() -> [IndexSection.Summary] {
        guard case .index(_, let table) = self.state() else { return [] }
        return table.entries.map {
            IndexSection.Summary(key: $0.key, byteCount: $0.byteCount, content: $0.content)
        }
    }

    /// Removes the file.
    ///
    /// - Returns: Whether there was one.
    /// - Throws: ``BlobError/Code/inconsistent`` when it is no index of this user's, and what removing brings.
    @discardableResult
    package func remove() throws(BlobError) -> Bool {
        if let folder { return try folder.open()?.remove(self.name) ?? false }
        if case .somethingElse = self.state() { throw self.somethingElse }
        if unlink(self.path) == 0 { return true }
        guard errno != ENOENT, errno != ENOTDIR else { return false }
        throw BlobError(systemError: errno, doing: "Could not remove \(self.path)")
    }

    /// Removes the file when it turned out to be of no use, unless the user named it.
    package func discard() {
        if self.folder != nil { _ = try? self.remove() }
    }
}

extension IndexFile {
    /// What is where the file should be.
    enum State {
        case nothing
        case index(IndexDescriptor, IndexTable)
        /// An index that is of no use: damaged, cut, of another version or of another origin.
        case useless
        /// What the user named, and never was an index of this user's.
        case somethingElse
        case unreadable(BlobError)
    }

    func state() -> State {
        do throws(BlobError) {
            if let folder {
                guard let file = try folder.open()?.file(self.name) else { return .nothing }
                let state = try self.state(of: file)
                if case .somethingElse = state { return .useless }
                return state
            }
            let file = try IndexDescriptor(path: self.path)
            return file.isRegular && file.isOwn ? try self.state(of: file) : .somethingElse
        } catch {
            return error.code == .notFound ? .nothing : .unreadable(error)
        }
    }

    private func state(of file: IndexDescriptor) throws(BlobError) -> State {
        guard file.byteCount > 0 else { return .nothing }
        do throws(BlobError) {
            let beginning = try file.read(at: 0, count: Int(min(file.byteCount, Int64(IndexTable.headByteCount))))
            guard beginning.starts(with: IndexTable.magic) else { return .somethingElse }
            guard beginning == IndexTable.head else { return .useless }
            let table = try Self.table(of: file)
            return self.folder == nil || table.origin == self.origin ? .index(file, table) : .useless
        } catch {
            guard error.code == .corrupted else { throw error }
            return .useless
        }
    }

    private static func table(of file: IndexDescriptor) throws(BlobError) -> IndexTable {
        let byteCount = file.byteCount
        // One read gets the table of most files, too.
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

    var somethingElse: BlobError {
        BlobError(
            .inconsistent, "\(self.path) is there already and is no index of this kind and user: it is left alone.",
            operation: .write)
    }
}
