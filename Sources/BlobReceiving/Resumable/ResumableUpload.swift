import BlobCore
import BlobPlatform
import BlobTransfer
import CryptoDigest

/// One resumable upload: the bytes received so far in a hidden file, with a record next to it.
///
/// The offset is the length of the file, so it is correct even after the receiver was killed. Only one request at a
/// time writes. A new request revokes the permit of the previous one, whose connection may be dead without being
/// closed.
final class ResumableUpload: Sendable {
    /// The permission of one request to write.
    struct Permit: Equatable {
        fileprivate let number: Int
    }

    /// A snapshot of the state of an upload.
    struct Facts {
        /// The number of bytes that have arrived and need no further check.
        let arrivedByteCount: Int64
        let record: UploadRecord
        /// True if no more bytes are expected.
        let isWhole: Bool

        /// The length in bytes; nil while unknown.
        var byteCount: Int64? { self.record.has(.unbounded) ? nil : self.record.part.byteCount }
    }

    private struct State {
        var record: UploadRecord
        var offset: Int64
        var permit = Permit(number: 0)
        var isRemoved = false

        var arrivedByteCount: Int64 { self.record.verifiedByteCount ?? self.offset }

        var isWhole: Bool {
            !self.record.has(.unended) && !self.record.has(.unbounded) && self.offset == self.record.part.byteCount
                && self.record.verifiedByteCount == nil
        }
    }

    let identifier: String
    private let folder: String
    /// The hidden file; nil if the upload is complete and its file is named.
    private let file: UploadFile?
    // Bytes are written while the lock is held, because no earlier request may write after a new one has begun.
    private let state: Locked<State>

    /// Creates an empty upload.
    ///
    /// - Parameter record: The name, the media type, and the length or limit of the upload.
    init(creating record: UploadRecord, in folder: String) throws(BlobError) {
        self.identifier = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal
        self.folder = folder
        self.state = Locked(State(record: record, offset: 0))
        self.file = try UploadFile(creatingAt: Self.path(of: self.identifier, in: folder))
        try record.store(at: self.recordPath)
    }

    /// Creates a final upload from the concatenated bytes of other uploads.
    ///
    /// If the receiver is killed before the end, no upload exists, and the remaining file is reused if the same upload
    /// is created again.
    ///
    /// - Throws: A refusal with 423 while another request is creating the same upload, or with 400 if the bytes do not
    ///   match the stated digests; the errors of the disk.
    init(
        _ identifier: String, concatenating parts: [ResumableUpload], as record: UploadRecord, in folder: String
    ) throws(BlobError) {
        (self.identifier, self.folder) = (identifier, folder)
        let file = try UploadFile(creatingAt: Self.path(of: identifier, in: folder))
        var (record, offset) = (record, Int64(0))
        do throws(BlobError) {
            var (hasher, check) = (CryptoDigest.sha256.makeHasher(), record.check)
            for part in parts {
                try part.file?.read(part.state.withLock { $0.offset }) { bytes throws(BlobError) in
                    hasher.update(bytes)
                    check.update(bytes)
                    try file.write(bytes, at: &offset)
                }
            }
            try check.finish()
            try file.synchronize()
            (record.part.byteCount, record.part.sha256) = (offset, hasher.finalizeHexadecimal())
            try record.store(at: file.path + Self.recordSuffix)
        } catch {
            file.removeHiddenName()
            throw error
        }
        (self.file, self.state) = (file, Locked(State(record: record, offset: offset)))
    }

    /// Opens an upload of this receiver or an earlier one.
    ///
    /// - Throws: A refusal with 404 if the upload does not exist, or with 423 while another process uses it.
    init(_ identifier: String, in folder: String) throws(BlobError) {
        let path = Self.path(of: identifier, in: folder)
        guard var record = try UploadRecord(contentsOf: path + Self.recordSuffix) else {
            throw RequestRefusal.missingUpload
        }
        (self.identifier, self.folder) = (identifier, folder)
        guard let file = try UploadFile(openingAt: path) else {
            guard record.isComplete else { throw RequestRefusal.missingUpload }
            (self.file, self.state) = (nil, Locked(State(record: record, offset: record.part.byteCount)))
            return
        }
        let status = try file.status()
        let offset = min(status.byteCount, record.verifiedByteCount ?? .max)
        record.verifiedByteCount = nil
        (self.file, self.state) = (file, Locked(State(record: record, offset: offset)))
        try file.truncate(to: offset)
        guard offset <= record.part.byteCount else {
            throw BlobError(.corrupted, "The file of an upload is longer than the upload.")
        }
        // The receiver was killed after naming the file and before removing the hidden name.
        if record.isComplete, status.linkCount > 1 { file.removeHiddenName() }
    }

    /// Returns a snapshot of the upload's state.
    ///
    /// - Parameter interrupting: True to revoke the permit of the writing request, so that the number of bytes no
    ///   longer changes.
    func facts(interrupting: Bool = false) throws(BlobError) -> Facts {
        try self.state.withLock { state throws(BlobError) in
            try Self.checkPresence(state)
            if interrupting { try self.interrupt(&state) }
            return Facts(
                arrivedByteCount: state.arrivedByteCount, record: state.record, isWhole: state.isWhole)
        }
    }

    /// Begins a request that writes at `offset`, and revokes the permits of all earlier requests.
    ///
    /// If the offset is wrong, an earlier request continues, because its connection may have ended before all its bytes
    /// are stored.
    ///
    /// - Parameters:
    ///   - isChecked: True if the bytes are kept only after ``end(_:keeping:isLast:)`` confirms them.
    ///   - byteCount: The length of the upload; nil if the request does not state it.
    ///   - isLast: True if the request states that it is the last one, and states its length.
    /// - Throws: A refusal with 409 if the offset differs from the number of arrived bytes, with 400 for a
    ///   contradictory length, with 413 for a length beyond the limit, with 403 for a final upload, or with 404 for an
    ///   upload that was removed.
    func begin(
        at offset: Int64, isChecked: Bool = false, byteCount: Int64? = nil, isLast: Bool = false
    ) throws(BlobError) -> Permit {
        try self.state.withLock { state throws(BlobError) in
            try Self.checkPresence(state)
            guard state.record.concatenation == nil else {
                throw RequestRefusal.error(403, "A final upload does not accept bytes.")
            }
            guard state.arrivedByteCount == offset else {
                throw RequestRefusal.wrongOffsetError(offset, expected: state.arrivedByteCount)
            }
            var record = state.record
            if let byteCount { try record.bound(at: byteCount, from: offset) }
            if isLast { record.end() }
            try self.interrupt(&state)
            record.verifiedByteCount = isChecked && self.file != nil ? offset : nil
            try self.store(record, in: &state)
            return state.permit
        }
    }

    /// Appends bytes.
    ///
    /// - Throws: A refusal with 413 for bytes beyond the length of the upload, or with 409 after another request has
    ///   begun.
    func append(_ bytes: UnsafeRawBufferPointer, _ permit: Permit) throws(BlobError) {
        try self.state.withLock { state throws(BlobError) in
            try Self.check(permit, state)
            guard Int64(bytes.count) <= state.record.part.byteCount - state.offset else {
                let byteCount = state.record.part.byteCount
                throw RequestRefusal.error(413, "The request exceeds the upload's length of \(byteCount) bytes.")
            }
            try self.file?.write(bytes, at: &state.offset)
        }
    }

    /// Ends a writing request and synchronises its bytes.
    ///
    /// - Parameters:
    ///   - keeping: False to discard the request's bytes, which is possible only if the request was begun as a checked
    ///     one.
    ///   - isLast: True if no more bytes follow.
    /// - Returns: The number of bytes that have arrived.
    /// - Throws: A refusal with 400 if bytes are missing after the last request, or with 409 after another request has
    ///   begun.
    func end(_ permit: Permit, keeping: Bool = true, isLast: Bool = false) throws(BlobError) -> Int64 {
        try self.state.withLock { state throws(BlobError) in
            try Self.check(permit, state)
            guard keeping else {
                try self.interrupt(&state)
                return state.offset
            }
            try self.file?.synchronize()
            var record = state.record
            record.verifiedByteCount = nil
            if isLast {
                try record.bound(at: state.offset, from: state.offset)
                record.end()
            }
            try self.store(record, in: &state)
            return state.offset
        }
    }

    /// Gives the file its final name if all bytes have arrived and it does not have that name yet.
    ///
    /// - Returns: The file; empty if bytes are missing, if it was already returned, or for a part of a final upload.
    /// - Throws: A refusal with 400 if the bytes do not match the digests stated at creation; the upload is then
    ///   removed.
    func completeParts() throws(BlobError) -> [ReceivedPart] {
        try self.state.withLock { state throws(BlobError) in
            guard let file, state.isWhole, !state.record.has(.partial), !state.isRemoved, file.isHidden else {
                return []
            }
            if !state.record.isComplete {
                try file.synchronize()
                var (hasher, check) = (CryptoDigest.sha256.makeHasher(), state.record.check)
                try file.read(state.offset) { bytes in
                    hasher.update(bytes)
                    check.update(bytes)
                }
                do throws(BlobError) {
                    try check.finish()
                } catch {
                    self.discard(&state)
                    throw error
                }
                state.record.part.sha256 = hasher.finalizeHexadecimal()
                // From now on, a receiver that finds the record without the bytes can conclude that the file has been
                // named.
                try state.record.store(at: self.recordPath)
            }
            var part = state.record.part
            part.file = try ReceivedFile.linkFile(
                file.path, in: self.folder, as: SafeFileName.fileName(from: part.name.utf8))
            try FileSystem(of: self.folder).synchronizeFolder()
            file.removeHiddenName()
            return [part]
        }
    }

    /// Removes the upload, but keeps a file that has been named.
    func remove() throws(BlobError) {
        try self.state.withLock { state throws(BlobError) in
            try Self.checkPresence(state)
            try self.interrupt(&state)
            self.discard(&state)
        }
    }

    // MARK: With the lock held

    private func discard(_ state: inout State) {
        state.isRemoved = true
        _ = unlink(self.recordPath)
        self.file?.removeHiddenName()
    }

    private static func check(_ permit: Permit, _ state: State) throws(BlobError) {
        guard state.permit == permit, !state.isRemoved else {
            throw RequestRefusal.error(409, "Another request has taken over the upload.")
        }
    }

    private static func checkPresence(_ state: State) throws(BlobError) {
        guard !state.isRemoved else { throw RequestRefusal.missingUpload }
    }

    private func store(_ record: UploadRecord, in state: inout State) throws(BlobError) {
        guard record != state.record else { return }
        state.record = record
        try record.store(at: self.recordPath)
    }

    /// Revokes the permit of the current request, and discards its bytes unless their check is complete.
    private func interrupt(_ state: inout State) throws(BlobError) {
        state.permit = Permit(number: state.permit.number + 1)
        guard let verified = state.record.verifiedByteCount else { return }
        try self.file?.truncate(to: verified)
        (state.offset, state.record.verifiedByteCount) = (verified, nil)
        try state.record.store(at: self.recordPath)
    }

    // MARK: Files

    /// The path of the upload's URL.
    var path: String { ResumableUploads.path + self.identifier }

    private static let recordSuffix = ".json"

    /// The length of the name of the hidden file.
    static let fileNameLength = 1 + 32 + ".upload".count

    private var recordPath: String { Self.path(of: self.identifier, in: self.folder) + Self.recordSuffix }

    private static func path(of identifier: String, in folder: String) -> String { "\(folder)/.\(identifier).upload" }
}

/// The hidden file that contains the bytes of a resumable upload, locked against other receivers of the folder.
final class UploadFile: Sendable {
    /// The number of bytes per read when the file is read again.
    private static let readByteCount = 1 << 18

    let path: String
    private let descriptor: Descriptor

    /// Creates the file, or empties a file left by an interrupted creation.
    init(creatingAt path: String) throws(BlobError) {
        self.path = path
        self.descriptor = try Descriptor(
            path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o644, doing: "Could not create \(path)")
        try self.lock()
        try self.truncate(to: 0)
    }

    /// Opens the file; fails if it does not exist.
    init?(openingAt path: String) throws(BlobError) {
        self.path = path
        do throws(BlobError) {
            self.descriptor = try Descriptor(path, O_RDWR | O_NOFOLLOW, doing: "Could not open an upload")
        } catch {
            guard error.systemErrorNumber == ENOENT else { throw error }
            return nil
        }
        try self.lock()
    }

    func status() throws(BlobError) -> FileStatus { try self.descriptor.status(named: "an upload") }

    /// True while the file has its hidden name.
    var isHidden: Bool { access(self.path, F_OK) == 0 }

    /// Writes bytes. Advances `offset` by the number of stored bytes, so that the offset is correct even after an
    /// error.
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

    /// Reads the first `byteCount` bytes of the file, and calls `take` with each piece.
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

    /// Removes the hidden name.
    func removeHiddenName() { _ = unlink(self.path) }

    /// Locks the file, unless its file system does not support locks.
    private func lock() throws(BlobError) {
        var lock = DescriptionLock.request(F_WRLCK)
        guard fcntl(self.descriptor.rawValue, DescriptionLock.setCommand, &lock) != 0,
            errno == EAGAIN || errno == EACCES
        else {
            return
        }
        throw RequestRefusal.error(423, "Another receiver has the upload open.")
    }
}

/// The facts about a resumable upload that remain after the receiver ends, stored in a small file next to its bytes.
struct UploadRecord: Codable, Equatable {
    enum Trait: String, Codable {
        /// A part of a final upload, which is never named or reported.
        case partial
        /// An upload that ends only with a request that declares the end.
        case unended
        /// An upload of unknown length. The length of the part is then a limit.
        case unbounded
    }

    /// The maximum length of a record to read. Request headers, which contain all names, are smaller.
    private static let maximumFileByteCount = 1 << 20

    /// The file as it will be reported: with its total length, but without a digest until all bytes have arrived.
    var part: ReceivedPart

    /// The traits; nil if the upload has no traits.
    private var traits: Set<Trait>?

    /// The value of `Upload-Concat` that created a final upload.
    var concatenation: String?

    /// The digests that the complete content must match, in the format of `Repr-Digest`; nil if none were stated.
    var digests: String?

    /// The number of bytes to keep if the receiver is killed during a request with a checksum; nil to keep all bytes.
    var verifiedByteCount: Int64?

    /// A check of all bytes, starting with the first.
    var check: ContentCheck { ContentCheck(BlobStatedDigest.list("Repr-Digest", [self.digests ?? ""])) }

    /// True once all bytes are on the disk and their digest is known.
    var isComplete: Bool { !self.part.sha256.isEmpty }

    init(part: ReceivedPart, _ traits: Set<Trait> = []) {
        self.part = part
        self.traits = traits.isEmpty ? nil : traits
    }

    /// Reads a record; fails if the file cannot be opened.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` if the file is not a valid record.
    init?(contentsOf path: String) throws(BlobError) {
        guard let file = try? Descriptor(path, O_RDONLY, doing: "") else { return nil }
        do {
            let byteCount = try Int(clamping: file.status(named: "the record").byteCount)
            let bytes = try file.bytes(count: min(byteCount, Self.maximumFileByteCount), named: "the record")
            self = try JSONDecoder().decode(Self.self, from: Data(bytes))
        } catch {
            throw BlobError(.corrupted, "The record \(path) of an upload cannot be read: \(BlobError.text(of: error)).")
        }
        guard self.part.byteCount >= 0, self.verifiedByteCount ?? 0 >= 0 else {
            throw BlobError(.corrupted, "The record \(path) of an upload has a negative length.")
        }
    }

    func has(_ trait: Trait) -> Bool { self.traits?.contains(trait) == true }

    /// Sets the length of an upload of which `offset` bytes have arrived.
    ///
    /// - Throws: A refusal with 400 if the length differs from the known one or is less than `offset`, or with 413 if
    ///   it exceeds the limit.
    mutating func bound(at byteCount: Int64, from offset: Int64) throws(BlobError) {
        let limit = self.part.byteCount
        guard byteCount >= offset, self.has(.unbounded) || byteCount == limit else {
            throw RequestRefusal.inconsistentLengthError(byteCount, expected: limit)
        }
        guard byteCount <= limit else {
            throw RequestRefusal.error(413, "The upload has more bytes than the limit of \(limit).")
        }
        self.part.byteCount = byteCount
        self.traits?.remove(.unbounded)
    }

    /// Allows the upload to be complete once all its bytes have arrived.
    mutating func end() { self.traits?.remove(.unended) }

    /// Replaces the file, and waits until it is on the disk.
    func store(at path: String) throws(BlobError) {
        try BlobError.wrapping {
            let bytes = try JSONEncoder().encode(self)
            let file = try AtomicFile(path: path)
            try bytes.withUnsafeBytes { try file.write($0) }
            try file.commit()
        }
    }
}
