import BlobCore
import BlobPlatform
import BlobTransfer
import CryptoDigest

/// One resumable upload: the bytes received so far, with a record.
///
/// The offset is the number of stored bytes, so it is correct even after the receiver was killed. Only one request at a
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
    private let store: any UploadStore
    /// The stored bytes; nil if the upload is complete and its bytes are published.
    private let file: (any StoredUpload)?
    // Bytes are written while the lock is held, because no earlier request may write after a new one has begun.
    private let state: Locked<State>

    /// Creates an empty upload.
    ///
    /// - Parameter record: The name, the media type, and the length or limit of the upload.
    init(creating record: UploadRecord, in store: any UploadStore) throws(BlobError) {
        self.identifier = (0..<16).map { _ in UInt8.random(in: 0 ... .max) }.hexadecimal
        self.store = store
        self.state = Locked(State(record: record, offset: 0))
        let file = try store.create(self.identifier)
        self.file = file
        do throws(BlobError) {
            try store.keep(record, of: self.identifier)
        } catch {
            file.discard()
            throw error
        }
    }

    /// Creates a final upload from the concatenated bytes of other uploads.
    ///
    /// If the receiver is killed before the end, no upload exists, and the remaining file is reused if the same upload
    /// is created again.
    ///
    /// - Throws: A refusal with 423 while another request is creating the same upload, or with 400 if the bytes do not
    ///   match the stated digests; the errors of the disk.
    init(
        _ identifier: String, concatenating parts: [ResumableUpload], as record: UploadRecord,
        in store: any UploadStore
    ) throws(BlobError) {
        (self.identifier, self.store) = (identifier, store)
        let file = try store.create(identifier)
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
            try store.keep(record, of: identifier)
        } catch {
            file.discard()
            throw error
        }
        (self.file, self.state) = (file, Locked(State(record: record, offset: offset)))
    }

    /// Opens an upload of this receiver or an earlier one.
    ///
    /// - Throws: A refusal with 404 if the upload does not exist, or with 423 while another process uses it.
    init(_ identifier: String, in store: any UploadStore) throws(BlobError) {
        guard var record = try UploadRecord(of: identifier, in: store) else { throw RequestRefusal.missingUpload }
        (self.identifier, self.store) = (identifier, store)
        guard let file = try store.open(identifier) else {
            guard record.isComplete else { throw RequestRefusal.missingUpload }
            (self.file, self.state) = (nil, Locked(State(record: record, offset: record.part.byteCount)))
            return
        }
        let offset = min(try file.byteCount(), record.verifiedByteCount ?? .max)
        record.verifiedByteCount = nil
        (self.file, self.state) = (file, Locked(State(record: record, offset: offset)))
        try file.truncate(to: offset)
        guard offset <= record.part.byteCount else {
            throw BlobError(.corrupted, "The file of an upload is longer than the upload.")
        }
        // The receiver was killed after publishing the bytes and before discarding its own name of them.
        if record.isComplete, file.isPublished { file.discard() }
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
                throw RequestRefusal.uploadError(403, "A final upload does not accept bytes.")
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
                throw RequestRefusal.uploadError(413, "The request exceeds the upload's length of \(byteCount) bytes.")
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

    /// Publishes the bytes if all of them have arrived and they are not yet published.
    ///
    /// - Returns: The part; empty if bytes are missing, if it was already returned, or for a part of a final upload.
    /// - Throws: A refusal with 400 if the bytes do not match the digests stated at creation; the upload is then
    ///   removed.
    func completeParts() throws(BlobError) -> [ReceivedPart] {
        try self.state.withLock { state throws(BlobError) in
            guard let file, state.isWhole, !state.record.has(.partial), !state.isRemoved, file.isPresent else {
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
                // From now on, a receiver that finds the record without the bytes can conclude that they were published.
                try self.store.keep(state.record, of: self.identifier)
            }
            var part = state.record.part
            part.file = try file.publish(part)
            file.discard()
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
        self.store.removeRecord(of: self.identifier)
        self.file?.discard()
    }

    private static func check(_ permit: Permit, _ state: State) throws(BlobError) {
        guard state.permit == permit, !state.isRemoved else {
            throw RequestRefusal.uploadError(409, "Another request has taken over the upload.")
        }
    }

    private static func checkPresence(_ state: State) throws(BlobError) {
        guard !state.isRemoved else { throw RequestRefusal.missingUpload }
    }

    private func store(_ record: UploadRecord, in state: inout State) throws(BlobError) {
        guard record != state.record else { return }
        state.record = record
        try self.store.keep(record, of: self.identifier)
    }

    /// Revokes the permit of the current request, and discards its bytes unless their check is complete.
    private func interrupt(_ state: inout State) throws(BlobError) {
        state.permit = Permit(number: state.permit.number + 1)
        guard let verified = state.record.verifiedByteCount else { return }
        try self.file?.truncate(to: verified)
        (state.offset, state.record.verifiedByteCount) = (verified, nil)
        try self.store.keep(state.record, of: self.identifier)
    }

    /// The path of the upload's URL.
    var path: String { ResumableUploads.path + self.identifier }
}

/// The facts about a resumable upload that remain after the receiver ends, stored next to its bytes.
struct UploadRecord: Codable, Equatable {
    enum Trait: String, Codable {
        /// A part of a final upload, which is never named or reported.
        case partial
        /// An upload that ends only with a request that declares the end.
        case unended
        /// An upload of unknown length. The length of the part is then a limit.
        case unbounded
    }

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

    /// Reads a record; fails if it does not exist.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for an invalid record.
    init?(of identifier: String, in store: any UploadStore) throws(BlobError) {
        guard let bytes = try store.record(of: identifier) else { return nil }
        do {
            self = try JSONDecoder().decode(Self.self, from: bytes)
        } catch {
            let text = BlobError.text(of: error)
            throw BlobError(.corrupted, "The record of the upload \(identifier) cannot be read: \(text).")
        }
        guard self.part.byteCount >= 0, self.verifiedByteCount ?? 0 >= 0 else {
            throw BlobError(.corrupted, "The record of the upload \(identifier) has a negative length.")
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
            throw RequestRefusal.uploadError(413, "The upload has more bytes than the limit of \(limit).")
        }
        self.part.byteCount = byteCount
        self.traits?.remove(.unbounded)
    }

    /// Allows the upload to be complete once all its bytes have arrived.
    mutating func end() { self.traits?.remove(.unended) }
}
