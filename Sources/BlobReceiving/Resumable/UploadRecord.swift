import BlobCore
import BlobPlatform

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
            throw UploadRefusal.inconsistentLength(byteCount, expected: limit)
        }
        guard byteCount <= limit else {
            throw UploadRefusal.error(413, "The upload has more bytes than the limit of \(limit).")
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
