import BlobCore
import Foundation

/// The facts about a resumable upload that survive the receiver, in a small file beside its bytes.
struct UploadRecord: Codable, Equatable {
    /// The largest file that is read: the header of a request, which is smaller, has all names in it.
    private static let maximumFileByteCount = 1 << 20

    /// The file as it will be reported: with its whole length, and without a digest until all bytes have arrived.
    var part: ReceivedPart

    /// The number of bytes to keep when the receiver is killed while a request with a checksum arrives; nil for all.
    var verifiedByteCount: Int64?

    /// True once all bytes are on the disk and their digest is known.
    var isComplete: Bool { !self.part.sha256.isEmpty }

    init(part: ReceivedPart) { self.part = part }

    /// Reads a record; nil when there is none.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a file that is no record.
    init?(contentsOf path: String) throws(BlobError) {
        guard let file = FileHandle(forReadingAtPath: path) else { return nil }
        do {
            let bytes = try file.read(upToCount: Self.maximumFileByteCount) ?? Data()
            self = try JSONDecoder().decode(Self.self, from: bytes)
        } catch {
            throw BlobError(.corrupted, "The record \(path) of an upload cannot be read: \(error).")
        }
        guard self.part.byteCount >= 0, self.verifiedByteCount ?? 0 >= 0 else {
            throw BlobError(.corrupted, "The record \(path) of an upload has a negative length.")
        }
    }

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
