public import BlobCore

/// Receives raw bodies, forms and, with a folder, resumable uploads, at any path. Reports each part once all bytes of
/// its request have arrived: with its length, its digest, and the path of its file.
///
/// ```swift
/// let service = try UploadService(folder: "/srv/received", maximumByteCount: 1 << 30)
/// ```
public struct UploadService: RequestService {
    /// The default maximum length of a body: 64 GiB.
    public static let defaultMaximumByteCount: Int64 = 64 << 30

    private let folder: String?
    private let uploads: ResumableUploads?
    private let storedFiles: StoredFiles?
    private let maximumByteCount: Int64

    /// Creates the service.
    ///
    /// - Parameters:
    ///   - path: The folder for files, which is created if it is missing; nil to compute digests only. Unfinished files
    ///     of earlier processes are removed. A process uses one folder.
    ///   - maximumByteCount: The maximum length of a body in bytes.
    /// - Throws: The error of the folder.
    public init(
        folder path: String?, maximumByteCount: Int64 = UploadService.defaultMaximumByteCount
    ) throws(BlobError) {
        let folder = try path.map { path throws(BlobError) in try ReceiverLock.claim(path) }
        (self.folder, self.maximumByteCount) = (folder, maximumByteCount)
        self.uploads = folder.map { ResumableUploads(in: UploadFolder($0), maximumByteCount: maximumByteCount) }
        self.storedFiles = folder.map { _ in StoredFiles() }
    }

    /// Returns the receiver of an upload, or of a question about one.
    public func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver {
        let request = ResumableUploads.request(head)
        let asksForFile = request == nil && head.method == "HEAD" && self.storedFiles != nil
        guard request != nil || head.method == "PUT" || head.method == "POST" || asksForFile else {
            let methods = self.storedFiles == nil ? "PUT, POST" : "PUT, POST, HEAD"
            let text = "Only PUT and POST are accepted.\n"
            let answer = RequestAnswer(status: 405, fields: [("Allow", methods)], text: text)
            // After a GET request, which has no body, the connection can be used again.
            if head.method == "GET" { return AnsweredRequest(answer) }
            throw RequestRefusal.error(405, text, answer.fields)
        }
        if let length = head.contentLength, length > self.maximumByteCount {
            throw BlobError(.limitExceeded, "The body has more bytes than the limit of \(self.maximumByteCount).")
        }
        if let request {
            if let uploads { return try request.makeReceiver(in: uploads) }
            guard request.isWholeBody else {
                throw RequestRefusal.uploadError(
                    501, "Resumable uploads need a folder: start the receiver with --directory.")
            }
        }
        if asksForFile, let storedFiles { return storedFiles.headReceiver(head.target) }
        return try RequestReceiver(
            head, folder: self.folder, maximumByteCount: self.maximumByteCount, storedFiles: self.storedFiles)
    }
}
