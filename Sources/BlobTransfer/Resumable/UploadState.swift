import BlobCore

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

    /// Keeps all other uploaders, of this process and others, from the upload until the lock is released.
    ///
    /// - Throws: ``BlobError/Code/unavailable`` while another one has the lock.
    func lock() throws(BlobError) -> UploadStateLock {
        try UploadStateLock(path: self.file.path + ".lock", of: self.file.path)
    }
}
