import BlobCore
import BlobTransfer

/// Receives the bytes of a request that writes to an upload. If the request is interrupted, keeps the bytes that
/// arrived.
final class ResumableReceiver: BodyReceiver {
    /// The facts about the bytes of a request, depending on the protocol.
    enum Bytes {
        case tus
        /// The bytes of a request of the draft.
        ///
        /// - Parameters:
        ///   - byteCount: The length of the upload; nil if the request does not state it.
        ///   - isLast: True if the request contains the rest of the upload.
        ///   - hasLength: False for a body in chunks.
        case draft(byteCount: Int64?, isLast: Bool, hasLength: Bool)
    }

    private let upload: ResumableUpload
    private let permit: ResumableUpload.Permit
    private let bytes: Bytes
    private let status: Int
    private let fields: [RequestHead.Field]
    /// The digests that the bytes must match to be kept.
    private var check: ContentCheck
    private var isOver = false
    var interimAnswer: RequestAnswer?

    /// - Parameters:
    ///   - digests: The digests that the bytes must match to be kept.
    ///   - status: The status of the response. With the draft, this is the status for an upload that is still
    ///     incomplete.
    ///   - fields: The fields of the response, in addition to the upload's state.
    init(
        _ upload: ResumableUpload, at offset: Int64, _ bytes: Bytes, _ digests: [BlobStatedDigest],
        status: Int, _ fields: [RequestHead.Field]
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

    func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        do throws(BlobError) {
            try self.upload.append(bytes, self.permit)
            self.check.update(bytes)
        } catch {
            // According to the draft, an upload that exceeds its length is no longer valid (section 4.4.2).
            if case .draft = self.bytes, error.refusalStatus == 413 { try self.upload.remove() }
            self.removeIfUnreachable()
            throw error
        }
    }

    /// Removes an upload whose creation is refused, unless an interim response with its URL was sent. The refusal does
    /// not contain the URL.
    private func removeIfUnreachable() {
        // Fails if it is removed already.
        if self.status == 201, self.interimAnswer == nil { try? self.upload.remove() }
    }

    func answer() throws(BlobError) -> RequestAnswer {
        do throws(BlobError) {
            return try self.storedAnswer()
        } catch {
            self.removeIfUnreachable()
            throw error
        }
    }

    private func storedAnswer() throws(BlobError) -> RequestAnswer {
        // After an error, the bytes are discarded as if the request had been abandoned.
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
        // In a response with content, the field would describe that content.
        if status == 204 { fields += try self.upload.facts().record.part.digestFields }
        return RequestAnswer(status: status, fields: fields + [("Upload-Offset", String(offset))], parts: parts)
    }

    func abandon() {
        guard !self.isOver else { return }
        self.isOver = true
        // Fails if another request has taken over, because that request has already ended this one.
        _ = try? self.upload.end(self.permit, keeping: self.check.isEmpty)
    }
}
