public import BlobCore
public import BlobPlatform

/// Keeps resumable uploads in hidden files of a folder, and gives complete ones their names there.
public struct UploadFolder: UploadStore {
    /// The time after which abandoned uploads and the records of complete ones are removed: one week.
    private static let lifetime = 7 * 24 * 3600.0

    /// The maximum length of a record to read. Request headers, which contain all names, are smaller.
    private static let maximumRecordByteCount = 1 << 20

    private let folder: String

    /// Opens the store in an existing folder, and removes the files of uploads that have not changed for a week.
    public init(_ folder: String) {
        self.folder = folder
        for name in (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? [] {
            guard let match = name.wholeMatch(of: /\.?(\.[0-9a-f]{32}\.upload)(\.json)?(\..+)?/) else { continue }
            // The modification date of the bytes also applies to their record.
            let path = "\(folder)/\(match.output.3 == nil ? String(match.output.1) : name)"
            let change = (FileStatus(at: path) ?? FileStatus(at: "\(folder)/\(name)"))?.modificationTime
            guard let change, Double(change) / 1e9 < Date().timeIntervalSince1970 - Self.lifetime else { continue }
            _ = unlink("\(folder)/\(name)")
        }
    }

    /// Creates or empties a hidden file, and locks it.
    public func create(_ identifier: String) throws(BlobError) -> any StoredUpload {
        try UploadFile(creatingAt: self.path(of: identifier), in: self.folder)
    }

    /// Opens and locks a hidden file; nil if it does not exist.
    public func open(_ identifier: String) throws(BlobError) -> (any StoredUpload)? {
        try UploadFile(openingAt: self.path(of: identifier), in: self.folder)
    }

    /// Returns the content of a hidden file; nil if it does not exist.
    public func record(of identifier: String) throws(BlobError) -> Data? {
        guard let file = try? Descriptor(self.recordPath(of: identifier), O_RDONLY, doing: "") else { return nil }
        let byteCount = try Int(clamping: file.status(named: "the record").byteCount)
        return Data(try file.bytes(count: min(byteCount, Self.maximumRecordByteCount), named: "the record"))
    }

    /// Replaces a hidden file, and waits until it is on the disk.
    public func keep(record: Data, of identifier: String) throws(BlobError) {
        let file = try AtomicFile(path: self.recordPath(of: identifier))
        try BlobError.wrapping { try record.withUnsafeBytes { try file.write($0) } }
        try file.commit()
    }

    /// Removes a hidden file.
    public func removeRecord(of identifier: String) { _ = unlink(self.recordPath(of: identifier)) }

    private func path(of identifier: String) -> String { "\(self.folder)/.\(identifier).upload" }

    private func recordPath(of identifier: String) -> String { self.path(of: identifier) + ".json" }
}

/// The hidden file that contains the bytes of a resumable upload, locked against other receivers of the folder.
private final class UploadFile: StoredUpload {
    /// The number of bytes per read when the file is read again.
    private static let readByteCount = 1 << 18

    private let path: String
    private let folder: String
    private let descriptor: Descriptor

    /// Creates the file, or empties a file left by an interrupted creation.
    init(creatingAt path: String, in folder: String) throws(BlobError) {
        (self.path, self.folder) = (path, folder)
        self.descriptor = try Descriptor(
            path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o644, doing: "Could not create \(path)")
        try self.lock()
        try self.truncate(to: 0)
    }

    /// Opens the file; fails if it does not exist.
    init?(openingAt path: String, in folder: String) throws(BlobError) {
        (self.path, self.folder) = (path, folder)
        do throws(BlobError) {
            self.descriptor = try Descriptor(path, O_RDWR | O_NOFOLLOW, doing: "Could not open an upload")
        } catch {
            guard error.systemErrorNumber == ENOENT else { throw error }
            return nil
        }
        try self.lock()
    }

    deinit {
        // A child process that was started meanwhile has a copy of the descriptor until it executes its program.
        var lock = DescriptionLock.request(F_UNLCK)
        _ = fcntl(self.descriptor.rawValue, DescriptionLock.setCommand, &lock)
    }

    var isPresent: Bool { access(self.path, F_OK) == 0 }
    var isPublished: Bool { FileStatus(self.descriptor.rawValue).map { $0.linkCount > 1 } ?? false }

    func byteCount() throws(BlobError) -> Int64 { try self.descriptor.status(named: "an upload").byteCount }

    func write(_ bytes: UnsafeRawBufferPointer, at offset: inout Int64) throws(BlobError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = pwrite(self.descriptor.rawValue, rest.baseAddress, rest.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not store an upload") }
            offset += Int64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    func read(_ byteCount: Int64, _ take: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < byteCount {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: byteCount - offset)))
            let count = try self.descriptor.read(into: room, at: offset, named: "an upload")
            guard count > 0 else { throw BlobError(.truncated, "The file of an upload ends too early.") }
            try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    func truncate(to byteCount: Int64) throws(BlobError) {
        guard ftruncate(self.descriptor.rawValue, off_t(byteCount)) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not truncate an upload")
        }
    }

    func synchronize() throws(BlobError) { try self.descriptor.synchronise(doing: "Could not store an upload") }

    func publish(_ part: ReceivedPart) throws(BlobError) -> String? {
        let name = SafeFileName.fileName(from: part.name.utf8)
        let path = try ReceivedFile.linkFile(self.path, in: self.folder, as: name)
        try FileSystem(of: self.folder).synchronizeFolder()
        return path
    }

    func discard() { _ = unlink(self.path) }

    /// Locks the file, unless its file system does not support locks.
    private func lock() throws(BlobError) {
        var lock = DescriptionLock.request(F_WRLCK)
        guard fcntl(self.descriptor.rawValue, DescriptionLock.setCommand, &lock) != 0,
            errno == EAGAIN || errno == EACCES
        else {
            return
        }
        throw RequestRefusal.uploadError(423, "Another receiver has the upload open.")
    }
}
