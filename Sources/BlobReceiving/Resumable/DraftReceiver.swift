import BlobCore

/// Receives the bytes of a request of the draft; what arrives stays if the rest does not.
final class DraftReceiver: BodyReceiver {
    private let upload: ResumableUpload
    private let permit: ResumableUpload.Permit
    private let isLast: Bool
    private let status: Int
    private let fields: [RequestAnswer.Field]
    private var isOver = false
    var interimAnswer: RequestAnswer?

    /// - Parameters:
    ///   - byteCount: The length of the upload, if the request tells it.
    ///   - isLast: True if the request has the rest of the upload.
    ///   - hasLength: False for a body in chunks.
    ///   - status: The status of the answer if the upload is not complete then.
    ///   - fields: The fields of the answer besides the state.
    init(
        _ upload: ResumableUpload, at offset: Int64, byteCount: Int64?, isLast: Bool, hasLength: Bool, status: Int,
        _ fields: [RequestAnswer.Field]
    ) throws(BlobError) {
        (self.upload, self.isLast, self.status, self.fields) = (upload, isLast, status, fields)
        self.permit = try upload.begin(at: offset, byteCount: byteCount, isLast: isLast && hasLength)
    }

    deinit { self.abandon() }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        do throws(BlobError) {
            try self.upload.append(bytes, self.permit)
        } catch {
            // An upload that exceeds its length is not valid any more (section 4.4.2).
            if (error.cause as? RequestRefusal)?.status == 413 { try self.upload.remove() }
            throw error
        }
    }

    func answer() throws(BlobError) -> RequestAnswer {
        self.isOver = true
        let offset = try self.upload.end(self.permit, isLast: self.isLast)
        let isWhole = try self.upload.facts().isWhole
        let parts = [try self.upload.complete()].compactMap(\.self)
        return RequestAnswer(
            status: isWhole ? 201 : self.status,
            fields: self.fields + [("Upload-Complete", isWhole ? "?1" : "?0"), ("Upload-Offset", String(offset))],
            parts: parts)
    }

    func abandon() {
        guard !self.isOver else { return }
        self.isOver = true
        // Fails when another request has taken over.
        _ = try? self.upload.end(self.permit)
    }
}

/// The answer to a request of the draft without a body, which was carried out already.
final class DraftAnswer: BodyReceiver {
    private let result: RequestAnswer

    init(_ status: Int, _ fields: [RequestAnswer.Field] = [], _ parts: [ReceivedPart] = []) {
        self.result = RequestAnswer(status: status, fields: fields, parts: parts)
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        throw UploadRefusal.error(400, "This request has no body.")
    }

    func answer() -> RequestAnswer { self.result }

    func abandon() {}
}
