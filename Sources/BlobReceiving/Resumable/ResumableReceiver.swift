import BlobCore
import BlobTransfer

/// Receives the bytes of a request that writes to an upload; what arrives stays if the rest does not.
final class ResumableReceiver: BodyReceiver {
    /// The facts about the bytes of a request, by the protocol of the request.
    enum Bytes {
        case tus
        /// - byteCount: The length of the upload, if the request tells it.
        /// - isLast: True if the request has the rest of the upload.
        /// - hasLength: False for a body in chunks.
        case draft(byteCount: Int64?, isLast: Bool, hasLength: Bool)
    }

    private let upload: ResumableUpload
    private let permit: ResumableUpload.Permit
    private let bytes: Bytes
    private let status: Int
    private let fields: [RequestAnswer.Field]
    /// The digests that the bytes must have to count.
    private var check: ContentCheck
    private var isOver = false
    var interimAnswer: RequestAnswer?

    /// - Parameters:
    ///   - digests: The digests that the bytes must have to count.
    ///   - status: The status of the answer; by the draft, if the upload is not complete then.
    ///   - fields: The fields of the answer besides the state of the upload.
    init(
        _ upload: ResumableUpload, at offset: Int64, _ bytes: Bytes, _ digests: [BlobStatedDigest],
        status: Int, _ fields: [RequestAnswer.Field]
    ) throws(BlobError) {
        self.check = ContentCheck(digests)
        let isChecked = !self.check.isEmpty
        (self.upload, self.bytes, self.status, self.fields) = (upload, bytes, status, fields)
        switch bytes {
        case .tus:
            self.permit = try upload.begin(at: offset, isChecked: isChecked)
        case .draft(let byteCount, let isLast, let hasLength):
            self.permit = try upload.begin(
                at: offset, isChecked: isChecked, byteCount: byteCount, isLast: isLast && hasLength)
        }
    }

    deinit { self.abandon() }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        do throws(BlobError) {
            try self.upload.append(bytes, self.permit)
            self.check.update(bytes)
        } catch {
            // By the draft, an upload that exceeds its length is not valid any more (section 4.4.2).
            if case .draft = self.bytes, error.refusalStatus == 413 { try self.upload.remove() }
            throw error
        }
    }

    func answer() throws(BlobError) -> RequestAnswer {
        // After an error the bytes are dropped, as those of a request that is abandoned.
        try self.check.finish()
        self.isOver = true
        var (status, fields, offset) = (self.status, self.fields, Int64(0))
        switch self.bytes {
        case .tus: offset = try self.upload.end(self.permit)
        case .draft(_, let isLast, _):
            offset = try self.upload.end(self.permit, isLast: isLast)
            let isWhole = try self.upload.facts().isWhole
            if isWhole { status = 201 }
            fields.append(("Upload-Complete", isWhole ? "?1" : "?0"))
        }
        let parts = try self.upload.completeParts()
        // In an answer with content, the field would be about that.
        if status == 204 { fields += try self.upload.facts().record.part.digestFields }
        return RequestAnswer(status: status, fields: fields + [("Upload-Offset", String(offset))], parts: parts)
    }

    func abandon() {
        guard !self.isOver else { return }
        self.isOver = true
        // Fails when another request has taken over, which has done the same.
        _ = try? self.upload.end(self.permit, keeping: self.check.isEmpty)
    }
}
