import BlobCore
import CryptoDigest
import Foundation

/// One resumable upload: its bytes so far in a hidden file, and its record beside it.
///
/// The offset is the length of that file, so that it is right after the receiver was killed. One request at a time
/// writes: one that begins ends the right of the one before, whose connection may be dead without having been closed.
final class ResumableUpload: Sendable {
    /// The right of one request to write.
    struct Permit: Equatable {
        fileprivate let number: Int
    }

    private struct State {
        var record: UploadRecord
        var offset: Int64
        var permit = Permit(number: 0)
        var isRemoved = false

        var arrivedByteCount: Int64 { self.record.verifiedByteCount ?? self.offset }
    }

    let identifier: String
    private let folder: String
    /// The file of the bytes; negative once the upload is complete and has its name.
    private let descriptor: CInt
    // Bytes are written under the lock: when another request has begun, no earlier one may write any more.
    private let state: Locked<State>

    /// Creates an upload without bytes.
    ///
    /// - Parameter part: Its name, media type and length.
    init(creating part: ReceivedPart, in folder: String) throws(BlobError) {
        self.identifier = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal
        self.folder = folder
        let record = UploadRecord(part: part)
        self.state = Locked(State(record: record, offset: 0))
        let path = Self.path(of: self.identifier, in: folder)
        self.descriptor = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0o644)
        guard self.descriptor >= 0 else {
            throw BlobError(systemError: errno, doing: "Could not create a file in \(folder)")
        }
        try Self.lock(self.descriptor)
        try record.store(at: path + Self.recordSuffix)
    }

    /// Opens an upload of this receiver or an earlier one.
    ///
    /// - Throws: ``BlobError/Code/notFound``; ``BlobError/Code/unavailable`` while another process has it open.
    init(_ identifier: String, in folder: String) throws(BlobError) {
        let path = Self.path(of: identifier, in: folder)
        let missing = BlobError(.notFound, "There is no such upload.")
        guard var record = try UploadRecord(contentsOf: path + Self.recordSuffix) else { throw missing }
        (self.identifier, self.folder) = (identifier, folder)
        let descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        self.descriptor = descriptor
        guard descriptor >= 0 else {
            self.state = Locked(State(record: record, offset: record.part.byteCount))
            guard record.isComplete, errno == ENOENT else { throw missing }
            return
        }
        var status = stat()
        guard fstat(descriptor, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not open an upload")
        }
        let offset = min(Int64(status.st_size), record.verifiedByteCount ?? .max)
        record.verifiedByteCount = nil
        self.state = Locked(State(record: record, offset: offset))
        try Self.lock(descriptor)
        try Self.truncate(descriptor, to: offset)
        guard offset <= record.part.byteCount else {
            throw BlobError(.corrupted, "The file of an upload has more bytes than the upload.")
        }
        // Killed after it had its name, and before the hidden one was removed.
        if record.isComplete, status.st_nlink > 1 { _ = unlink(path) }
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    var byteCount: Int64 { self.state.withLock { $0.record.part.byteCount } }

    /// The number of bytes that have arrived and need no check. Grows while a request writes.
    var arrivedByteCount: Int64 {
        get throws(BlobError) {
            try self.state.withLock { state throws(BlobError) in
                try Self.checkPresence(state)
                return state.arrivedByteCount
            }
        }
    }

    /// Begins a request that writes at `offset`, and ends the right of all earlier ones.
    ///
    /// At another offset an earlier request goes on: its connection may have ended, and not all of its bytes be stored.
    ///
    /// - Parameter isChecked: True if its bytes count only when ``end(_:keeping:)`` confirms them.
    /// - Throws: A refusal with 409 for another offset than the number of bytes that have arrived.
    func begin(at offset: Int64, isChecked: Bool) throws(BlobError) -> Permit {
        try self.state.withLock { state throws(BlobError) in
            try Self.checkPresence(state)
            guard state.arrivedByteCount == offset else {
                throw TusRequest.refusal(
                    409, "\(state.arrivedByteCount) bytes of the upload have arrived, not \(offset).")
            }
            try self.interrupt(&state)
            guard isChecked, self.descriptor >= 0 else { return state.permit }
            state.record.verifiedByteCount = offset
            try state.record.store(at: self.path + Self.recordSuffix)
            return state.permit
        }
    }

    /// Appends bytes.
    ///
    /// - Throws: A refusal with 413 for more bytes than the upload has, and with 409 when another request has begun.
    func append(_ bytes: UnsafeRawBufferPointer, _ permit: Permit) throws(BlobError) {
        try self.state.withLock { state throws(BlobError) in
            try Self.check(permit, state)
            guard Int64(bytes.count) <= state.record.part.byteCount - state.offset else {
                throw TusRequest.refusal(413, "The upload has only \(state.record.part.byteCount) bytes.")
            }
            var rest = bytes
            while !rest.isEmpty {
                let count = pwrite(self.descriptor, rest.baseAddress, rest.count, off_t(state.offset))
                if count < 0, errno == EINTR { continue }
                guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not store an upload") }
                state.offset += Int64(count)
                rest = UnsafeRawBufferPointer(rebasing: rest[count...])
            }
        }
    }

    /// Ends a request that wrote, and synchronises its bytes.
    ///
    /// - Parameter keeping: False to drop the bytes of the request, which must be one that is checked.
    /// - Returns: The number of bytes that have arrived.
    func end(_ permit: Permit, keeping: Bool = true) throws(BlobError) -> Int64 {
        try self.state.withLock { state throws(BlobError) in
            try Self.check(permit, state)
            guard keeping else {
                try self.interrupt(&state)
                return state.offset
            }
            try self.synchronize()
            guard state.record.verifiedByteCount != nil else { return state.offset }
            state.record.verifiedByteCount = nil
            try state.record.store(at: self.path + Self.recordSuffix)
            return state.offset
        }
    }

    /// Gives the file its name if all bytes have arrived and it has none yet.
    ///
    /// - Returns: The file; nil if bytes are missing, or if it was returned before.
    func complete() throws(BlobError) -> ReceivedPart? {
        try self.state.withLock { state throws(BlobError) in
            guard state.offset == state.record.part.byteCount, state.record.verifiedByteCount == nil,
                !state.isRemoved, self.descriptor >= 0, access(self.path, F_OK) == 0
            else { return nil }
            if !state.record.isComplete {
                try self.synchronize()
                state.record.part.sha256 = try self.digest(of: state.offset)
                // From now on a receiver that finds the record, and not the bytes, knows that they have their name.
                try state.record.store(at: self.path + Self.recordSuffix)
            }
            var part = state.record.part
            part.file = try PartFile.link(self.path, in: self.folder, as: SafeFileName.make(from: part.name.utf8))
            try FileSystem(of: self.folder).synchronizeFolder()
            _ = unlink(self.path)
            return part
        }
    }

    /// Removes the upload; a file that has its name stays.
    func remove() throws(BlobError) {
        try self.state.withLock { state throws(BlobError) in
            try Self.checkPresence(state)
            try self.interrupt(&state)
            state.isRemoved = true
            for path in [self.path + Self.recordSuffix, self.path] { _ = unlink(path) }
        }
    }

    // MARK: With the lock held

    private static func check(_ permit: Permit, _ state: State) throws(BlobError) {
        guard state.permit == permit, !state.isRemoved else {
            throw TusRequest.refusal(409, "Another request has taken over the upload.")
        }
    }

    private static func checkPresence(_ state: State) throws(BlobError) {
        guard !state.isRemoved else { throw BlobError(.notFound, "There is no such upload.") }
    }

    private func synchronize() throws(BlobError) {
        guard self.descriptor >= 0, uninterrupted({ fsync(self.descriptor) }) != 0 else { return }
        throw BlobError(systemError: errno, doing: "Could not store an upload")
    }

    /// Ends the right of the current request, and drops its bytes if they are not checked.
    private func interrupt(_ state: inout State) throws(BlobError) {
        state.permit = Permit(number: state.permit.number + 1)
        guard let verified = state.record.verifiedByteCount else { return }
        try Self.truncate(self.descriptor, to: verified)
        (state.offset, state.record.verifiedByteCount) = (verified, nil)
        try state.record.store(at: self.path + Self.recordSuffix)
    }

    /// Returns the digest of the file, read back from the disk or the system's cache.
    private func digest(of byteCount: Int64) throws(BlobError) -> String {
        var hasher = CryptoDigest.sha256.makeHasher()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: 1 << 18, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < byteCount {
            let count = pread(self.descriptor, buffer.baseAddress, buffer.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not read an upload back") }
            hasher.update(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
        return hasher.finalizeHexadecimal()
    }

    // MARK: Files

    private static let recordSuffix = ".json"

    /// The length of the name of the file of the bytes.
    static let fileNameLength = 1 + 32 + ".upload".count

    private var path: String { Self.path(of: self.identifier, in: self.folder) }

    private static func path(of identifier: String, in folder: String) -> String { "\(folder)/.\(identifier).upload" }

    private static func truncate(_ descriptor: CInt, to byteCount: Int64) throws(BlobError) {
        guard ftruncate(descriptor, off_t(byteCount)) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not shorten an upload")
        }
    }

    /// Locks the file against other receivers of the folder; a file system without locks has none.
    private static func lock(_ descriptor: CInt) throws(BlobError) {
        var lock = flock()
        (lock.l_type, lock.l_whence) = (numericCast(F_WRLCK), numericCast(SEEK_SET))
        guard fcntl(descriptor, DescriptionLock.set, &lock) != 0, errno == EAGAIN || errno == EACCES else { return }
        throw TusRequest.refusal(423, "Another receiver has the upload open.")
    }
}
