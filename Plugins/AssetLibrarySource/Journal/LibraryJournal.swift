import BlobCore
import Foundation

/// The journal of a library: a text file beside the catalogue, from which the catalogue can be made again.
///
/// A transaction of the catalogue appends its lines and synchronises them before its commit, under SQLite's lock for
/// writers, and stores the length of the journal in the catalogue. A longer journal therefore ends with lines of a
/// commit that did not happen, or is newer than the catalogue.
struct LibraryJournal: Sendable {
    static let fileName = "journal.jsonl"
    /// The name of a journal that is being written anew.
    private static let newName = "journal.jsonl.new"
    /// The largest length of a line in bytes; longer ones are skipped. Names of files have at most some hundred bytes.
    private static let lineLimit = 1 << 20

    private let folderPath: String

    init(_ folder: LibraryFolder) { self.folderPath = folder.path }

    /// The length in bytes; 0 when there is no journal.
    var byteCount: Int64 { (try? FileSnapshot(path: "\(self.folderPath)/\(Self.fileName)"))?.byteCount ?? 0 }

    /// Appends lines, which survive a loss of power after the return. Ends a torn line before.
    ///
    /// - Returns: The new length in bytes.
    func append(_ entries: [JournalEntry]) throws -> Int64 {
        let folder = try Folder(self.folderPath)
        let descriptor = try folder.openFile(named: Self.fileName, O_RDWR | O_APPEND | O_CREAT)
        defer { close(descriptor) }
        let end = Int64(lseek(descriptor, 0, SEEK_END))
        var last: [UInt8] = [UInt8(ascii: "\n")]
        if end > 0 {
            try last.withUnsafeMutableBytes { buffer in
                _ = try RegularFile.read(descriptor, into: buffer, at: end - 1, named: Self.fileName)
            }
        }
        let torn: [UInt8] = last == [UInt8(ascii: "\n")] ? [] : [UInt8(ascii: "\n")]
        let lines = try entries.reduce(into: torn) { $0 += try $1.line() }
        try lines.withUnsafeBytes { try writeAll($0, to: descriptor, named: Self.fileName) }
        try Self.synchronise(descriptor)
        if end == 0 { try folder.synchronise() }
        return end + Int64(lines.count)
    }

    /// Writes the journal anew, in place of the one that is there.
    ///
    /// - Parameter write: Calls its argument with each entry.
    /// - Returns: The length in bytes.
    func replace(_ write: ((JournalEntry) throws -> Void) throws -> Void) throws -> Int64 {
        let folder = try Folder(self.folderPath)
        try folder.removeFile(named: Self.newName)
        let descriptor = try folder.createFile(named: Self.newName)
        defer { close(descriptor) }
        var byteCount: Int64 = 0
        try write { entry in
            let line = try entry.line()
            try line.withUnsafeBytes { try writeAll($0, to: descriptor, named: Self.newName) }
            byteCount += Int64(line.count)
        }
        try Self.synchronise(descriptor)
        try folder.replaceFile(named: Self.fileName, by: Self.newName)
        return byteCount
    }

    private static func synchronise(_ descriptor: CInt) throws(BlobError) {
        guard uninterrupted({ fsync(descriptor) }) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not synchronise the journal of the library")
        }
    }

    /// Calls `body` with each entry that begins at or after an offset; skips lines that are torn or damaged.
    ///
    /// - Returns: The number of lines that were skipped.
    @discardableResult
    func forEachEntry(from byteOffset: Int64 = 0, _ body: (JournalEntry) throws -> Void) throws -> Int {
        let path = "\(self.folderPath)/\(Self.fileName)"
        let descriptor = uninterrupted { open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK) }
        if descriptor < 0, errno == ENOENT { return 0 }
        guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(path)") }
        defer { close(descriptor) }
        guard try FileSnapshot(descriptor, path).isRegular else {
            throw BlobError(.unsupported, "The journal \(path) is not a regular file.")
        }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.lineLimit, alignment: 16)
        defer { buffer.deallocate() }
        var (offset, kept, skippedCount, isInLongLine) = (byteOffset, 0, 0, false)
        while true {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[kept...])
            let count = try RegularFile.read(descriptor, into: room, at: offset, named: path)
            guard count > 0 else { return skippedCount + (kept > 0 || isInLongLine ? 1 : 0) }
            offset += Int64(count)
            var rest = buffer[..<(kept + count)]
            while let end = rest.firstIndex(of: UInt8(ascii: "\n")) {
                let entry = isInLongLine ? nil : JournalEntry(line: Array(rest[..<end]))
                isInLongLine = false
                if let entry { try body(entry) } else { skippedCount += 1 }
                rest = rest[(end + 1)...]
            }
            if rest.count == buffer.count { (rest, isInLongLine) = (buffer[..<0], true) }
            kept = rest.count
            buffer.copyBytes(from: Array(rest))
        }
    }
}

extension LibraryJournal {
    /// Returns the facts of an asset as it was added last, also of one that was removed; nil when there are none.
    func addition(of id: UUID, sha256: String) throws -> JournalAsset? {
        var found: JournalAsset?
        try self.forEachEntry { entry in
            if case .added(let asset) = entry, asset.id == id, asset.sha256 == sha256 { found = asset }
        }
        return found
    }
}
