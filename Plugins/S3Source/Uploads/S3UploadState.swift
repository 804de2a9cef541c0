import BlobCore
import BlobPlatform

/// The facts by which another process continues an upload in parts.
struct S3UploadState: Codable, Equatable {
    /// The locator of the object.
    var object: String
    /// The identifier that the store gave the upload.
    var identifier: String
    var partByteCount: Int64
    /// The length of the source in bytes; nil when it was unknown.
    var byteCount: Int64?
    /// The strength and the token of the source's validator.
    var isStrong: Bool
    var validator: String

    /// The validator of the source.
    var identity: BlobValidator { self.isStrong ? .strong(self.validator) : .weak(self.validator) }
}

/// A file with the state of one upload, for this user alone.
struct S3UploadStateFile: Sendable {
    /// The largest file that is read, in bytes.
    private static let maximumByteCount = 64 * 1024

    let path: String

    /// Returns the state; nil if there is none, or if the file is no state.
    func load() -> S3UploadState? {
        let descriptor = uninterrupted { open(self.path, O_RDONLY | O_CLOEXEC) }
        guard descriptor >= 0 else { return nil }
        defer { close(descriptor) }
        let bytes = withUnsafeTemporaryAllocation(byteCount: Self.maximumByteCount, alignment: 16) { buffer in
            let count = try? RegularFile.fill(buffer, from: descriptor, at: 0, named: self.path)
            return Data(buffer.prefix(count ?? 0))
        }
        return try? JSONDecoder().decode(S3UploadState.self, from: bytes)
    }

    /// Replaces the state, and waits until it is on the disk. Makes the folder if it is missing.
    func store(_ state: S3UploadState) throws(BlobError) {
        do {
            let separator = self.path.lastIndex(of: "/")
            let folder = separator.map { self.path[..<$0] + "/" } ?? "."
            try FileManager.default.createDirectory(
                atPath: String(folder), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let descriptor = uninterrupted { open(String(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC) }
            guard descriptor >= 0 else { throw BlobError(systemError: errno, doing: "Could not open \(folder)") }
            defer { close(descriptor) }
            let name = separator.map { self.path[self.path.index(after: $0)...] } ?? self.path[...]
            let file = try AtomicFile(named: String(name), in: descriptor)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(state).withUnsafeBytes { try file.write($0) }
            try file.commit()
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    func remove() { _ = unlink(self.path) }
}
