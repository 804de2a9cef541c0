package import BlobCore
import BlobDeflate
import BlobPlatform

extension IndexFile {
    /// Writes sections, and keeps the sections with other keys that the file has already.
    ///
    /// The file is replaced at once: readers see the previous file or the new one. Of two concurrent writers, the last
    /// one wins. Afterwards other files of the folder are removed as far as its limit requires.
    ///
    /// - Parameters:
    ///   - sections: At most 256 sections with different keys, written in this order.
    ///   - content: The content that the sections were made from.
    ///   - isReplacing: True when a file that the user named may be replaced. When false, nothing is written if the
    ///     file exists, unless this process wrote it with `isReplacing` false.
    /// - Throws: ``BlobError/Code/inconsistent`` when the file that the user named exists and is not an index,
    ///   ``BlobError/Code/limitExceeded`` when the file would exceed the limit of its folder, and errors of writing.
    ///   The previous file is unchanged then.
    /// - Complexity: O(bytes of the file), in little memory.
    package func write(
        _ sections: [NewIndexSection], for content: IndexedContent, isReplacing: Bool = true
    ) throws(BlobError) {
        precondition(sections.count <= IndexTable.maximumSectionCount, "An index file has at most 256 sections.")
        guard isReplacing || self.folder != nil || !self.exists || ownFiles.contains(self.path) else { return }
        let state = self.state()
        switch state {
        case .foreignFile: throw self.foreignFile
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
            precondition(!table.entries.contains { $0.key == section.key }, "Two sections have the same key.")
            let place = try output.section { output throws(BlobError) in
                try section.append(to: &output)
            }
            table.entries.append(
                IndexTable.Entry(
                    key: section.key, flags: section.flags, content: content, byteOffset: place.byteOffset,
                    byteCount: place.byteCount, checksum: place.checksum))
        }
        if case .index(let old, let oldTable) = state {
            try table.copy(oldTable.entries, of: old, to: &output)
        }
        try output.append(table.tail(at: output.byteOffset))
        try output.flush()
        try file.commit()
        folder?.evict(keeping: self.name)
        if self.folder == nil, !isReplacing { ownFiles.insert(self.path) }
        IndexNotice.built(path: self.path).send()
    }
}

/// The files named by the user that reads in this process created; later reads may add sections to them.
private let ownFiles = OwnFiles()

private final class OwnFiles: Sendable {
    private struct Identity: Hashable {
        let device: UInt64
        let inode: UInt64
    }

    private let identities = Locked<Set<Identity>>([])

    func insert(_ path: String) {
        guard let identity = self.identity(path) else { return }
        _ = self.identities.withLock { $0.insert(identity) }
    }

    func contains(_ path: String) -> Bool {
        guard let identity = self.identity(path) else { return false }
        return self.identities.withLock { $0.contains(identity) }
    }

    private func identity(_ path: String) -> Identity? {
        var status = stat()
        guard stat(path, &status) == 0 else { return nil }
        return Identity(
            device: UInt64(truncatingIfNeeded: status.st_dev), inode: UInt64(truncatingIfNeeded: status.st_ino))
    }
}

extension NewIndexSection {
    fileprivate func append(to output: inout IndexOutput) throws(BlobError) {
        try self.produce { bytes throws(BlobError) in try output.append(bytes) }
    }
}

extension IndexTable {
    /// Copies the sections that are not in the table yet, are intact and fit.
    fileprivate mutating func copy(
        _ entries: [Entry], of file: IndexDescriptor, to output: inout IndexOutput
    ) throws(BlobError) {
        for entry in entries where self.entries.count < Self.maximumSectionCount {
            guard !self.entries.contains(where: { $0.key == entry.key }),
                output.hasRoom(for: entry.byteCount + Int64(self.adding(entry).tail(at: 0).count)),
                (try? file.checksum(of: entry)) == entry.checksum
            else { continue }
            let place = try output.section { output throws(BlobError) in
                try file.forEachChunk(in: entry.range) { chunk throws(BlobError) in try output.append(chunk) }
            }
            self.entries.append(
                Entry(
                    key: entry.key, flags: entry.flags, content: entry.content, byteOffset: place.byteOffset,
                    byteCount: place.byteCount, checksum: place.checksum))
        }
    }

    private func adding(_ entry: Entry) -> IndexTable {
        var table = self
        table.entries.append(entry)
        return table
    }
}

extension IndexDescriptor {
    fileprivate func checksum(of entry: IndexTable.Entry) throws(BlobError) -> UInt32 {
        var sum = CRC32()
        try self.forEachChunk(in: entry.range) { chunk throws(BlobError) in chunk.withUnsafeBytes { sum.update($0) } }
        return sum.value
    }
}

extension IndexTable.Entry {
    fileprivate var range: Range<Int64> { self.byteOffset..<(self.byteOffset + self.byteCount) }
}
