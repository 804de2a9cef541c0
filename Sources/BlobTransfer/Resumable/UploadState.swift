package import BlobCore
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
    private let file: StateFile<UploadState>

    /// Creates the description of a file, which need not exist, as its folder need not.
    public init(path: String) { self.file = StateFile(path: path) }

    /// The boundary of the form of the upload; nil for another body, and without a state.
    public var boundary: String? { self.load()?.boundary }

    package func load() -> UploadState? { self.file.load() }
    func store(_ state: UploadState) throws(BlobError) { try self.file.store(state) }
    func remove() { self.file.remove() }

    func lock() throws(BlobError) -> UploadStateLock { try self.file.lock() }
}

/// A small file with a state, as JSON, for this user alone.
package struct StateFile<State: Codable & Sendable>: Sendable {
    /// The largest file that is read, in bytes.
    private static var maximumByteCount: Int { 64 * 1024 }

    package let path: String

    package init(path: String) { self.path = path }

    /// Returns the state; nil if there is none, or if the file is no state.
    package func load() -> State? {
        let file = try? Descriptor(self.path, O_RDONLY, doing: "")
        let bytes = try? file?.bytes(count: Self.maximumByteCount, named: self.path)
        return bytes.flatMap { try? JSONDecoder().decode(State.self, from: Data($0)) }
    }

    /// Replaces the state, and waits until it is on the disk. Makes the folder if it is missing.
    package func store(_ state: State) throws(BlobError) {
        try BlobError.wrapping {
            let separator = self.path.lastIndex(of: "/")
            let folder = separator.map { self.path[..<$0] + "/" } ?? "."
            try FileManager.default.createDirectory(
                atPath: String(folder), withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
            let descriptor = try Descriptor(
                String(folder), O_RDONLY | O_DIRECTORY, doing: "Could not open \(folder)")
            let name = separator.map { self.path[self.path.index(after: $0)...] } ?? self.path[...]
            let file = try AtomicFile(named: String(name), in: descriptor)
            let encoder = JSONEncoder()
            encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
            try encoder.encode(state).withUnsafeBytes { try file.write($0) }
            try file.commit()
        }
    }

    package func remove() { _ = unlink(self.path) }

    /// Keeps all other uploaders, of this process and others, from the upload until the lock is released.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` while another one has the lock.
    package func lock() throws(BlobError) -> UploadStateLock {
        try UploadStateLock(path: self.path + ".lock", of: self.path)
    }
}

/// The lock of a state file: a file beside it, which is there while it is locked, or after a kill.
///
/// The system releases a lock when its process ends, however it ends.
package final class UploadStateLock {
    private let path: String
    private let file: Descriptor

    /// Takes the lock, and makes the folder if it is missing.
    init(path: String, of statePath: String) throws(BlobError) {
        self.path = path
        try BlobError.wrapping {
            try FileManager.default.createDirectory(
                atPath: URL(fileURLWithPath: path).deletingLastPathComponent().path,
                withIntermediateDirectories: true, attributes: [.posixPermissions: 0o700])
        }
        while true {
            let file = try Descriptor(
                path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o600, doing: "Could not open \(path)")
            guard file.lock() else {
                throw BlobError(.unavailable, "Another process makes the upload of the state \(statePath).")
            }
            // The one that had the lock may have removed the file in between.
            if try file.status(named: path).identity == FileStatus(at: path, followingLinks: false)?.identity {
                self.file = file
                return
            }
        }
    }

    package func release() {
        _ = unlink(self.path)
        self.file.unlock()
    }
}
