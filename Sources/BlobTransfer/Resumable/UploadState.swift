package import BlobCore
import BlobPlatform

/// The facts that another process needs to continue a resumable upload, stored in a small file.
package struct UploadState: Codable, Equatable, Sendable {
    /// The URL at which the upload was created.
    package var url: String
    /// The URL of the upload itself. It may be a secret.
    package var location: String
    /// The length of the source in bytes.
    package var byteCount: Int64
    /// The validator of the source as text.
    package var validator: String
    /// The boundary of a form, which reproduces the form byte for byte.
    package var boundary: String?
    /// The protocol; nil for tus.
    var wire: ResumableUploadProtocol?
    /// The protocol version, if the protocol has several.
    var version: String?
    /// The URLs of the parts in order; nil for an upload without parts. The parts have nearly the same length.
    var parts: [String]?
}

/// A file that stores the state of one upload.
public struct UploadStateFile: Sendable {
    private let file: StateFile<UploadState>

    /// Creates a reference to a file. Neither the file nor its folder needs to exist.
    public init(path: String) { self.file = StateFile(path: path) }

    /// The boundary of the form being uploaded; nil for any other body and without a state.
    public var boundary: String? { self.load()?.boundary }

    package func load() -> UploadState? { self.file.load() }
    func store(_ state: UploadState) throws(BlobError) { try self.file.store(state) }
    func remove() { self.file.remove() }

    func lock() throws(BlobError) -> UploadStateLock { try self.file.lock() }
}

/// A small JSON file that stores a state, accessible only to the current user.
package struct StateFile<State: Codable & Sendable>: Sendable {
    /// The maximum length of a file to read, in bytes.
    private static var maximumByteCount: Int { 64 * 1024 }

    package let path: String

    package init(path: String) { self.path = path }

    /// Returns the state; nil if the file does not exist or is not a valid state.
    package func load() -> State? {
        let file = try? Descriptor(self.path, O_RDONLY, doing: "")
        let bytes = try? file?.bytes(count: Self.maximumByteCount, named: self.path)
        return bytes.flatMap { try? JSONDecoder().decode(State.self, from: Data($0)) }
    }

    /// Replaces the state, and waits until it is on the disk. Creates the folder if necessary.
    package func store(_ state: State) throws(BlobError) {
        try BlobError.wrapping {
            let separator = self.path.lastIndex(of: "/")
            let folder = separator.map { self.path[..<$0] + "/" } ?? "."
            try createFolder(Array(folder.utf8), permissions: 0o700)
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

    /// Locks the upload against all other uploaders, in this and other processes, until the lock is released.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` while another uploader holds the lock.
    package func lock() throws(BlobError) -> UploadStateLock {
        try UploadStateLock(path: self.path + ".lock", of: self.path)
    }
}

/// The lock of a state file, held on a file next to it. That file remains if the process is killed.
///
/// The system releases the lock when its process ends for any reason.
package final class UploadStateLock {
    private let path: String
    private let file: Descriptor

    /// Acquires the lock. Creates the folder if necessary.
    init(path: String, of statePath: String) throws(BlobError) {
        self.path = path
        let folder = URL(fileURLWithPath: path).deletingLastPathComponent().path
        try createFolder(Array(folder.utf8), permissions: 0o700)
        while true {
            let file = try Descriptor(
                path, O_RDWR | O_CREAT | O_NOFOLLOW, permissions: 0o600, doing: "Could not open \(path)")
            guard file.lock() else {
                throw BlobError(.unavailable, "Another process is using the upload state \(statePath).")
            }
            // The previous owner of the lock may have removed the file in the meantime.
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
