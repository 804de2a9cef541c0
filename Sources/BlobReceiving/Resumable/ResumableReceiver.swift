import BlobCore

/// Receives the bytes of a request that writes to an upload; what arrives stays if the rest does not.
final class ResumableReceiver: BodyReceiver {
    /// The facts about the bytes of a request, by the protocol of the request.
    enum Bytes {
        /// - checksum: The digest that the bytes must have to count.
        case tus(checksum: UploadChecksum?)
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
    private var checksum: UploadChecksum?
    private var isOver = false
    var interimAnswer: RequestAnswer?

    /// - Parameters:
    ///   - status: The status of the answer; by the draft, if the upload is not complete then.
    ///   - fields: The fields of the answer besides the state of the upload.
    init(
        _ upload: ResumableUpload, at offset: Int64, _ bytes: Bytes, status: Int, _ fields: [RequestAnswer.Field]
    ) throws(BlobError) {
        (self.upload, self.bytes, self.status, self.fields) = (upload, bytes, status, fields)
        switch bytes {
        case .tus(let checksum):
            self.checksum = checksum
            self.permit = try upload.begin(at: offset, isChecked: checksum != nil)
        case .draft(let byteCount, let isLast, let hasLength):
            self.permit = try upload.begin(at: offset, byteCount: byteCount, isLast: isLast && hasLength)
        }
    }

    deinit { self.abandon() }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        do throws(BlobError) {
            try self.upload.append(bytes, self.permit)
            self.checksum?.hasher.update(bytes)
        } catch {
            // By the draft, an upload that exceeds its length is not valid any more (section 4.4.2).
            if case .draft = self.bytes, error.refusalStatus == 413 { try self.upload.remove() }
            throw error
        }
    }

    func answer() throws(BlobError) -> RequestAnswer {
        self.isOver = true
        var (status, fields, offset) = (self.status, self.fields, Int64(0))
        switch self.bytes {
        case .tus:
            let isIntact = self.checksum?.isMet() ?? true
            offset = try self.upload.end(self.permit, keeping: isIntact)
            guard isIntact else { throw RequestRefusal.error(460, "The bytes do not have the Upload-Checksum.") }
        case .draft(_, let isLast, _):
            offset = try self.upload.end(self.permit, isLast: isLast)
            let isWhole = try self.upload.facts().isWhole
            if isWhole { status = 201 }
            fields.append(("Upload-Complete", isWhole ? "?1" : "?0"))
        }
        return RequestAnswer(
            status: status, fields: fields + [("Upload-Offset", String(offset))], parts: try self.upload.completeParts()
        )
    }

    func abandon() {
        guard !self.isOver else { return }
        self.isOver = true
        // Fails when another request has taken over, which has done the same.
        _ = try? self.upload.end(self.permit, keeping: self.checksum == nil)
    }
}

/// The digest that the bytes of a request must have.
struct UploadChecksum {
    var hasher: any BlobHasher
    let expected: [UInt8]

    /// Returns true when the bytes that were added have the digest. Called once.
    mutating func isMet() -> Bool { self.hasher.finalize() == self.expected }
}
