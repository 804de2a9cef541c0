import BlobCore

/// The digest that the bytes of a request must have.
struct TusChecksum {
    var hasher: any BlobHasher
    let expected: [UInt8]
}

/// Receives the bytes of a `PATCH`, or of a `POST` that creates its upload; what arrives stays if the rest does not.
final class TusReceiver: BodyReceiver {
    private let upload: ResumableUpload
    private let permit: ResumableUpload.Permit
    private let status: Int
    private let fields: [RequestAnswer.Field]
    private var checksum: TusChecksum?
    private var isOver = false

    /// - Parameters:
    ///   - status: The status of the answer.
    ///   - fields: The fields of the answer besides the version and the offset.
    init(
        _ upload: ResumableUpload, at offset: Int64, _ checksum: TusChecksum?, status: Int,
        _ fields: [RequestAnswer.Field] = []
    ) throws(BlobError) {
        (self.upload, self.checksum, self.status, self.fields) = (upload, checksum, status, fields)
        self.permit = try upload.begin(at: offset, isChecked: checksum != nil)
    }

    deinit { self.abandon() }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        try self.upload.append(bytes, self.permit)
        self.checksum?.hasher.update(bytes)
    }

    func answer() throws(BlobError) -> RequestAnswer {
        self.isOver = true
        let isIntact = self.checksum.map { checksum in
            var hasher = checksum.hasher
            return hasher.finalize() == checksum.expected
        }
        let offset = try self.upload.end(self.permit, keeping: isIntact ?? true)
        guard isIntact != false else { throw UploadRefusal.error(460, "The bytes do not have the Upload-Checksum.") }
        return TusAnswer(
            self.status, self.fields + [("Upload-Offset", String(offset))],
            [try self.upload.complete()].compactMap(\.self)
        ).answer()
    }

    func abandon() {
        guard !self.isOver else { return }
        self.isOver = true
        // Fails when another request has taken over, which has done the same.
        _ = try? self.upload.end(self.permit, keeping: self.checksum == nil)
    }
}

/// The answer to a request without a body, which was carried out already.
final class TusAnswer: BodyReceiver {
    private let result: RequestAnswer

    init(_ status: Int, _ fields: [RequestAnswer.Field] = [], _ parts: [ReceivedPart] = []) {
        self.result = RequestAnswer(
            status: status, fields: [("Tus-Resumable", TusRequest.version)] + fields, parts: parts)
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        throw UploadRefusal.error(400, "This request has no body.")
    }

    func answer() -> RequestAnswer { self.result }

    func abandon() {}
}
