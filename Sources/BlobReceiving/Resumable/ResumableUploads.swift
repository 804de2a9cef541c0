package import BlobCore
import BlobPlatform
import CryptoDigest

/// A request of a protocol for resumable uploads.
package protocol ResumableRequest: Sendable {
    /// True for a request with the whole body of a new upload, which may be received like an ordinary request.
    var isWholeBody: Bool { get }

    /// Returns the receiver for the request's body. A request without a body is carried out immediately.
    ///
    /// - Throws: An error with a ``RequestRefusal`` as its cause, and the errors of the disk.
    func makeReceiver(in uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver
}

extension ResumableRequest {
    /// Returns the receiver for the request; nil if nothing is stored and the request can be received like an ordinary
    /// one.
    ///
    /// - Parameter uploads: The uploads; nil if nothing is stored.
    /// - Throws: The errors of ``makeReceiver(in:)``; a refusal with 501 if the request needs stored uploads.
    package func makeReceiver(_ uploads: ResumableUploads?) throws(BlobError) -> (any BodyReceiver)? {
        if let uploads { return try self.makeReceiver(in: uploads) }
        guard self.isWholeBody else {
            throw RequestRefusal.error(501, "Resumable uploads need a folder: start the receiver with --directory.")
        }
        return nil
    }
}

/// The resumable uploads of a folder, including the uploads of earlier receivers.
package final class ResumableUploads: Sendable {
    /// The time after which abandoned uploads and the records of complete ones are removed: one week.
    private static let lifetime = 7 * 24 * 3600.0

    /// The number of known uploads above which unused ones are discarded from memory.
    private static let maximumIdleCount = 1024

    private static let identifierLength = 32

    /// The path of the URLs of all uploads, to which the identifier is appended.
    static let path = "/files/"

    private struct Entry {
        weak var upload: ResumableUpload?
    }

    private let folder: String
    /// The maximum length of an upload in bytes.
    package let maximumByteCount: Int64
    private let entries = Locked<[String: Entry]>([:])

    /// Creates the collection, and removes uploads that have not changed for a week.
    package init(in folder: String, maximumByteCount: Int64) {
        self.folder = folder
        self.maximumByteCount = maximumByteCount
        let files = FileManager.default
        for name in (try? files.contentsOfDirectory(atPath: folder)) ?? [] {
            guard name.wholeMatch(of: /\.[0-9a-f]{32}\.upload(\.json)?/) != nil else { continue }
            // The modification date of the bytes also applies to their record.
            let bytes = "\(folder)/\(name.prefix(ResumableUpload.fileNameLength))"
            let path = files.fileExists(atPath: bytes) ? bytes : "\(folder)/\(name)"
            let change = (try? files.attributesOfItem(atPath: path))?[.modificationDate] as? Date
            guard let change, change.timeIntervalSinceNow < -Self.lifetime else { continue }
            _ = unlink("\(folder)/\(name)")
        }
    }

    /// Returns the identifier in the path of an upload's URL; nil for any other path.
    static func identifier(in path: String) -> String? {
        path.hasPrefix(self.path) ? String(path.dropFirst(self.path.count)) : nil
    }

    /// Returns the request if it belongs to a protocol for resumable uploads; nil otherwise.
    package static func request(
        method: String, path: String, fields: [RequestAnswer.Field]
    ) -> (any ResumableRequest)? {
        if let request = TusRequest(method: method, path: path, fields: fields) { return request }
        return DraftRequest(method: method, path: path, fields: fields)
    }

    /// Checks the length of an upload.
    ///
    /// - Throws: A refusal with 413 if the upload has more bytes than the limit.
    func checkLimit(_ byteCount: Int64) throws(BlobError) {
        guard byteCount > self.maximumByteCount else { return }
        throw RequestRefusal.error(
            413, "The upload has more bytes than the limit of \(self.maximumByteCount).",
            [DraftRequest.limitField(self)])
    }

    func create(_ record: UploadRecord) throws(BlobError) -> ResumableUpload {
        let upload = try ResumableUpload(creating: record, in: self.folder)
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
        let upload = try ResumableUpload(identifier, concatenating: parts, as: record, in: self.folder)
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
            let upload = try ResumableUpload(identifier, in: self.folder)
            Self.add(upload, to: &entries)
            return upload
        }
    }

    private static func add(_ upload: ResumableUpload, to entries: inout [String: Entry]) {
        if entries.count >= self.maximumIdleCount { entries = entries.filter { $0.value.upload != nil } }
        entries[upload.identifier] = Entry(upload: upload)
    }
}
