import BlobCore
import BlobPlatform
import CryptoDigest

/// The hidden file with the bytes of a resumable upload, locked against other receivers of the folder.
final class UploadFile: Sendable {
    /// The number of bytes that are read back at once.
    private static let readByteCount = 1 << 18

    let path: String
    let descriptor: CInt

    /// Creates the file, or empties one that an interrupted creation left.
    init(creatingAt path: String) throws(BlobError) {
        self.path = path
        self.descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o644)
        guard self.descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not create \(path)") }
        try self.lock()
        try self.truncate(to: 0)
    }

    /// Opens the file; nil if there is none.
    init?(openingAt path: String) throws(BlobError) {
        self.path = path
        self.descriptor = open(path, O_RDWR | O_CLOEXEC | O_NOFOLLOW)
        guard self.descriptor >= 0 else {
            guard errno == ENOENT else { throw BlobError(systemError: errno, doing: "Could not open an upload") }
            return nil
        }
        try self.lock()
    }

    deinit { if self.descriptor >= 0 { close(self.descriptor) } }

    func status() throws(BlobError) -> stat {
        var status = stat()
        guard fstat(self.descriptor, &status) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not open an upload")
        }
        return status
    }

    /// True while the file has its hidden name.
    var isHidden: Bool { access(self.path, F_OK) == 0 }

    /// Writes bytes; `offset` grows with each that is stored, so that it is right after an error too.
    func write(_ bytes: UnsafeRawBufferPointer, at offset: inout Int64) throws(BlobError) {
        var rest = bytes
        while !rest.isEmpty {
            let count = pwrite(self.descriptor, rest.baseAddress, rest.count, off_t(offset))
            if count < 0, errno == EINTR { continue }
            guard count > 0 else { throw BlobError(systemError: errno, doing: "Could not store an upload") }
            offset += Int64(count)
            rest = UnsafeRawBufferPointer(rebasing: rest[count...])
        }
    }

    /// Calls `take` with the first bytes of the file, piece by piece, from the disk or the system's cache.
    func read(_ byteCount: Int64, _ take: (UnsafeRawBufferPointer) throws(BlobError) -> Void) throws(BlobError) {
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.readByteCount, alignment: 4096)
        defer { buffer.deallocate() }
        var offset: Int64 = 0
        while offset < byteCount {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(Int(clamping: byteCount - offset)))
            let count = try RegularFile.read(self.descriptor, into: room, at: offset, named: "an upload back")
            guard count > 0 else { throw BlobError(.truncated, "The file of an upload ends too early.") }
            try take(UnsafeRawBufferPointer(rebasing: buffer[..<count]))
            offset += Int64(count)
        }
    }

    func truncate(to byteCount: Int64) throws(BlobError) {
        guard ftruncate(self.descriptor, off_t(byteCount)) == 0 else {
            throw BlobError(systemError: errno, doing: "Could not shorten an upload")
        }
    }

    func synchronize() throws(BlobError) {
        guard uninterrupted({ fsync(self.descriptor) }) != 0 else { return }
        throw BlobError(systemError: errno, doing: "Could not store an upload")
    }

    /// Removes the hidden name.
    func hide() { _ = unlink(self.path) }

    /// Locks the file; a file system without locks has none.
    private func lock() throws(BlobError) {
        var lock = flock()
        (lock.l_type, lock.l_whence) = (numericCast(F_WRLCK), numericCast(SEEK_SET))
        guard fcntl(self.descriptor, DescriptionLock.set, &lock) != 0, errno == EAGAIN || errno == EACCES else {
            return
        }
        throw RequestRefusal.error(423, "Another receiver has the upload open.")
    }
}

/// The facts about a resumable upload that survive the receiver, in a small file beside its bytes.
struct UploadRecord: Codable, Equatable {
    enum Trait: String, Codable {
        /// One of the parts that a final upload consists of: it is never named, or reported.
        case partial
        /// An upload of which only a request that says so is the end.
        case unended
        /// An upload whose length is not known yet: that of the part is the limit.
        case unbounded
    }

    /// The largest file that is read: the header of a request, which is smaller, has all names in it.
    private static let maximumFileByteCount = 1 << 20

    /// The file as it will be reported: with its whole length, and without a digest until all bytes have arrived.
    var part: ReceivedPart

    /// The traits; nil for none.
    private var traits: Set<Trait>?

    /// The value of `Upload-Concat` that a final upload was created with.
    var concatenation: String?

    /// The number of bytes to keep when the receiver is killed while a request with a checksum arrives; nil for all.
    var verifiedByteCount: Int64?

    /// True once all bytes are on the disk and their digest is known.
    var isComplete: Bool { !self.part.sha256.isEmpty }

    init(part: ReceivedPart, _ traits: Set<Trait> = []) {
        self.part = part
        self.traits = traits.isEmpty ? nil : traits
    }

    /// Reads a record; nil when there is none.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a file that is no record.
    init?(contentsOf path: String) throws(BlobError) {
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        do {
            let byteCount = max(Int(lseek(descriptor, 0, SEEK_END)), 0)
            var bytes = [UInt8](repeating: 0, count: min(byteCount, Self.maximumFileByteCount))
            let count = try bytes.withUnsafeMutableBytes { buffer in
                try RegularFile.fill(buffer, from: descriptor, at: 0, named: "the record")
            }
            self = try JSONDecoder().decode(Self.self, from: Data(bytes.prefix(count)))
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
    /// - Throws: A refusal with 400 for another length than that before, and with 413 for one beyond the limit.
    mutating func bound(at byteCount: Int64, from offset: Int64) throws(BlobError) {
        let limit = self.part.byteCount
        guard byteCount >= offset, self.has(.unbounded) || byteCount == limit else {
            throw RequestRefusal.inconsistentLength(byteCount, expected: limit)
        }
        guard byteCount <= limit else {
            throw RequestRefusal.error(413, "The upload has more bytes than the limit of \(limit).")
        }
        self.part.byteCount = byteCount
        self.traits?.remove(.unbounded)
    }

    /// Makes the upload complete once all of its bytes have arrived.
    mutating func end() { self.traits?.remove(.unended) }

    /// Replaces the file, and waits until it is on the disk.
    func store(at path: String) throws(BlobError) {
        do {
            let bytes = try JSONEncoder().encode(self)
            let file = try AtomicFile(path: path)
            try bytes.withUnsafeBytes { try file.write($0) }
            try file.commit()
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
