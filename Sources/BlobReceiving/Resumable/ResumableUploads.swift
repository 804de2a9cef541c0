public import BlobCore
import CryptoDigest

/// A request of a protocol for resumable uploads.
protocol ResumableRequest: Sendable {
    /// True for a request with the whole body of a new upload, which may be received like an ordinary request.
    var isWholeBody: Bool { get }

    /// Returns the receiver for the request's body. A request without a body is carried out when its end is known.
    ///
    /// - Throws: An error with a ``RequestRefusal`` as its cause, and the errors of the disk.
    func makeReceiver(in uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver
}

/// The resumable uploads of a store, including the uploads of earlier receivers: the server's side of tus 1.0.0 and of
/// the draft "Resumable Uploads for HTTP", of which any request may continue an upload of the other.
public final class ResumableUploads: Sendable {
    /// The number of known uploads above which unused ones are discarded from memory.
    private static let maximumIdleCount = 1024

    private static let identifierLength = 32

    /// The path of the URLs of all uploads, to which the identifier is appended.
    static let path = "/files/"

    private struct Entry {
        weak var upload: ResumableUpload?
    }

    private let store: any UploadStore
    /// The maximum length of an upload in bytes.
    let maximumByteCount: Int64
    private let entries = Locked<[String: Entry]>([:])

    /// Creates the collection of all uploads in a store.
    public init(in store: any UploadStore, maximumByteCount: Int64) {
        (self.store, self.maximumByteCount) = (store, maximumByteCount)
    }

    /// Returns the receiver of a request that belongs to one of the protocols; nil for any other request.
    ///
    /// - Throws: An error with a ``RequestRefusal`` as its cause, and the errors of the store.
    public func receiver(for head: RequestHead) throws(BlobError) -> (any BodyReceiver)? {
        try Self.request(head)?.makeReceiver(in: self)
    }

    /// Returns the identifier in the path of an upload's URL; nil for any other path.
    static func identifier(in path: String) -> String? {
        path.hasPrefix(self.path) ? String(path.dropFirst(self.path.count)) : nil
    }

    /// Returns the request if it belongs to a protocol for resumable uploads; nil otherwise.
    static func request(_ head: RequestHead) -> (any ResumableRequest)? { TusRequest(head) ?? DraftRequest(head) }

    /// Checks the length of an upload.
    ///
    /// - Throws: A refusal with 413 if the upload has more bytes than the limit.
    func checkLimit(_ byteCount: Int64) throws(BlobError) {
        guard byteCount > self.maximumByteCount else { return }
        throw RequestRefusal.uploadError(
            413, "The upload has more bytes than the limit of \(self.maximumByteCount).",
            [DraftRequest.limitField(self)])
    }

    func create(_ record: UploadRecord) throws(BlobError) -> ResumableUpload {
        let upload = try ResumableUpload(creating: record, in: self.store)
        self.entries.withLock { Self.add(upload, to: &$0) }
        return upload
    }

    /// Creates a final upload, or returns the upload that an earlier request with the same words created.
    ///
    /// The sender of the earlier request may not have received the response. The words are the identifiers of the parts
    /// and the metadata.
    ///
    /// - Complexity: Copies the bytes of all parts.
    func concatenate(
        _ parts: [ResumableUpload], as record: UploadRecord, words: [String]
    ) throws(BlobError) -> ResumableUpload {
        let digest = CryptoDigest.sha256.digest(of: Array(words.joined(separator: "\0").utf8)).hexadecimal
        let identifier = String(digest.prefix(Self.identifierLength))
        do throws(BlobError) {
            return try self.find(identifier)
        } catch {
            guard error.refusalStatus == 404 else { throw error }
        }
        let upload = try ResumableUpload(identifier, concatenating: parts, as: record, in: self.store)
        self.entries.withLock { Self.add(upload, to: &$0) }
        return upload
    }

    /// Returns the object that represents an upload. An upload has only one such object.
    ///
    /// - Throws: A refusal with 404 if the upload does not exist, or with 423 while another process uses it.
    func find(_ identifier: String) throws(BlobError) -> ResumableUpload {
        guard identifier.wholeMatch(of: /[0-9a-f]{32}/) != nil else { throw RequestRefusal.missingUpload }
        return try self.entries.withLock { entries throws(BlobError) in
            if let upload = entries[identifier]?.upload { return upload }
            let upload = try ResumableUpload(identifier, in: self.store)
            Self.add(upload, to: &entries)
            return upload
        }
    }

    private static func add(_ upload: ResumableUpload, to entries: inout [String: Entry]) {
        if entries.count >= self.maximumIdleCount { entries = entries.filter { $0.value.upload != nil } }
        entries[upload.identifier] = Entry(upload: upload)
    }
}
