import BlobCore
import BlobPlatform

/// The facts by which another process continues a resumable upload, in a small file.
package struct UploadState: Codable, Equatable, Sendable {
    /// The URL at which the upload was created.
    package var url: String
    /// The URL of the upload itself, which may be a secret.
    package var location: String
    /// The length of the source in bytes.
    package var byteCount: Int64
    /// The validator of the source in one word.
    package var validator: String
    /// The boundary of a form, which makes it the same bytes again.
    package var boundary: String?
    /// The protocol; nil for tus.
    var wire: ResumableProtocol?
    /// The version of the protocol, if it has several.
    var version: String?
    /// The URLs of the parts, which are of nearly the same length, in their order; nil for an upload without parts.
    var parts: [String]?
}

/// A file with the state of one upload.
public struct UploadStateFile: Sendable {
    /// The largest file that is read.
    private static let maximumByteCount = 64 * 1024

    private let path: String

    /// Creates the description of a file, which need not exist, as its folder need not.
    public init(path: String) { self.path = path }

    /// The boundary of the form of the upload; nil for another body, and without a state.
    public var boundary: String? { self.load()?.boundary }

    /// Returns the state; nil if there is none, or if the file is no state.
    package func load() -> UploadState? {
        let descriptor = open(self.path, O_RDONLY | O_CLOEXEC)
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = withUnsafeTemporaryAllocation(byteCount: Self.maximumByteCount, alignment: 1) { buffer in
            let count = try? RegularFile.fill(buffer, from: descriptor, at: 0, named: self.path)
            return Data(buffer.prefix(count ?? 0))
        }
        return try? JSONDecoder().decode(UploadState.self, from: bytes)
    }

    /// Replaces the state, for this user alone, and waits until it is on the disk. Makes the folder if it is missing.
    func store(_ state: UploadState) throws(BlobError) {
        do {
            let url = URL(fileURLWithPath: self.path)
            let folder = url.deletingLastPathComponent().path
            let descriptor = open(folder, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
            guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(folder)") }
            defer { close(descriptor) }
            let file = try AtomicFile(named: url.lastPathComponent, in: descriptor)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(state).withUnsafeBytes { try file.write($0) }
            try file.commit()
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    func remove() { _ = unlink(self.path) }

    /// Keeps all other uploaders, of this process and others, from the upload until the lock is released.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` while another one has the lock.
    func lock() throws(BlobError) -> UploadStateLock { try UploadStateLock(path: self.path + ".lock", of: self.path) }
}
