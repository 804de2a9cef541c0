import BlobCore
import BlobTransfer

/// A request of the draft "Resumable Uploads for HTTP" (draft-ietf-httpbis-resumable-upload-11), identified in the
/// request by its interop version.
struct DraftRequest: ResumableRequest {
    /// The interop versions of drafts 4 to 11, whose differences do not affect the requests handled here.
    private static let versions: Set<String> = ["6", "7", "8"]

    private let method: String
    private let path: String
    private let fields: [String: String]
    private let identifier: String?
    private let digests: RequestDigests

    /// Creates the request; fails if it does not belong to this protocol.
    ///
    /// A request belongs to this protocol if its path is the path of an upload, or if it is a `POST` or `PUT` with the
    /// field `Upload-Complete`.
    init?(_ head: RequestHead) {
        (self.method, self.path) = (head.method, head.target)
        // A repeated field has no valid value.
        self.fields = Dictionary(head.fields.map { ($0.name.lowercased(), $0.value) }) { "\($0), \($1)" }
        self.digests = RequestDigests(head.fields)
        self.identifier = ResumableUploads.identifier(in: head.target)
        switch head.method {
        case "HEAD", "GET", "PATCH", "DELETE": guard self.identifier != nil else { return nil }
        case "POST", "PUT": guard self.isLast != nil else { return nil }
        default: return nil
        }
    }

    var isWholeBody: Bool { self.identifier == nil && self.isLast == true }

    func makeReceiver(in uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        switch self.method {
        case "POST", "PUT": return try self.create(uploads)
        case "PATCH": return try self.append(to: uploads.find(self.identifier ?? ""), uploads)
        case "DELETE":
            return AnsweredRequest { () throws(BlobError) in
                try uploads.find(self.identifier ?? "").remove()
                return RequestAnswer(status: 204)
            }
        default:
            return AnsweredRequest { () throws(BlobError) in
                try self.describe(uploads.find(self.identifier ?? ""), uploads)
            }
        }
    }

    static func limitField(_ uploads: ResumableUploads) -> RequestHead.Field {
        ("Upload-Limit", "max-size=\(min(uploads.maximumByteCount, Self.maximumInteger)), min-size=0")
    }

    private func create(_ uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        let isLast = self.isLast == true
        let byteCount = try self.byteCount(from: 0)
        try uploads.checkLimit(byteCount ?? 0)
        let disposition = self.fields["content-disposition"].flatMap { try? ParameterizedValue($0.utf8) }
        let filename = (try? disposition?.filename()).flatMap { $0.isEmpty ? nil : $0 }
        let name = RequestReceiver.name(in: self.path)
        let part = ReceivedPart(
            name: String(decoding: filename ?? name, as: UTF8.self),
            filename: filename.map { String(decoding: $0, as: UTF8.self) }, mediaType: self.fields["content-type"],
            byteCount: byteCount ?? uploads.maximumByteCount, sha256: "")
        var record = UploadRecord(part: part, byteCount == nil ? [.unbounded, .unended] : [.unended])
        record.digests = BlobStatedDigest.fieldValue(self.digests.representation)
        let upload = try uploads.create(record)
        let receiver = try ResumableReceiver(
            upload, at: 0, .draft(byteCount: byteCount, isLast: isLast, hasLength: self.hasLength),
            self.digests.content, status: 201, [("Location", upload.path), Self.limitField(uploads)])
        if let version = self.fields["upload-draft-interop-version"], Self.versions.contains(version) {
            let fields = [
                ("Location", upload.path), ("Upload-Draft-Interop-Version", version), Self.limitField(uploads),
            ]
            receiver.interimAnswer = RequestAnswer(status: 104, fields: fields)
        }
        return receiver
    }

    private func append(
        to upload: ResumableUpload, _ uploads: ResumableUploads
    ) throws(BlobError) -> any BodyReceiver {
        let type = self.fields["content-type"]?.prefix { $0 != ";" && $0 != " " }.lowercased()
        guard type == "application/partial-upload" else {
            throw RequestRefusal.uploadError(415, "The Content-Type must be application/partial-upload.")
        }
        guard let offset = self.integer("upload-offset"), let isLast = self.isLast else {
            throw RequestRefusal.uploadError(
                400, "A PATCH request must have an Upload-Offset in bytes, and Upload-Complete.")
        }
        let facts = try upload.facts()
        guard facts.arrivedByteCount == offset else {
            throw RequestRefusal.wrongOffsetError(offset, expected: facts.arrivedByteCount)
        }
        let rest = facts.record.part.byteCount - offset
        guard isLast || self.contentLength ?? 0 <= rest else {
            throw RequestRefusal.uploadError(
                413, "The upload accepts only \(rest) more bytes.", [Self.limitField(uploads)])
        }
        let byteCount = try self.byteCount(from: offset)
        return try ResumableReceiver(
            upload, at: offset, .draft(byteCount: byteCount, isLast: isLast, hasLength: self.hasLength),
            self.digests.all, status: 204, [Self.limitField(uploads)])
    }

    private func describe(
        _ upload: ResumableUpload, _ uploads: ResumableUploads
    ) throws(BlobError) -> RequestAnswer {
        // The next request may begin at this offset, so the offset must not change.
        let facts = try upload.facts(interrupting: true)
        let parts = try upload.completeParts()
        var fields = [
            ("Upload-Offset", String(facts.arrivedByteCount)), ("Upload-Complete", facts.isWhole ? "?1" : "?0"),
            Self.limitField(uploads), ("Cache-Control", "no-store"),
        ]
        fields += try upload.facts().record.part.digestFields
        if let byteCount = facts.byteCount { fields.append(("Upload-Length", String(byteCount))) }
        return RequestAnswer(status: 204, fields: fields, parts: parts)
    }

    /// Returns the length of the upload, according to a request at `offset`; nil if the request states no length.
    ///
    /// - Throws: A refusal with 400 for contradictory lengths.
    private func byteCount(from offset: Int64) throws(BlobError) -> Int64? {
        let told = self.integer("upload-length")
        guard self.isLast == true, let contentLength = self.contentLength else { return told }
        let (sum, isTooLarge) = offset.addingReportingOverflow(contentLength)
        guard told == nil || told == sum, !isTooLarge else {
            throw RequestRefusal.inconsistentLengthError(sum, expected: told ?? 0)
        }
        return sum
    }

    // MARK: Fields (RFC 9651)

    private static let maximumInteger: Int64 = 999_999_999_999_999

    /// The length of the body; nil if the body is sent in chunks or the length is invalid.
    private var contentLength: Int64? {
        if let text = self.fields["content-length"] { return RequestHead.byteCount(text) }
        return self.hasLength ? 0 : nil
    }

    private var hasLength: Bool { self.fields["transfer-encoding"] == nil }

    /// The value of `Upload-Complete`; nil if missing or invalid.
    private var isLast: Bool? { self.item("upload-complete").flatMap { ["?1": true, "?0": false][$0] } }

    /// Returns the value of a field that contains a number of bytes; nil if missing or invalid.
    private func integer(_ name: String) -> Int64? {
        self.item(name).flatMap { text in
            let isInteger = (1...15).contains(text.utf8.count) && text.utf8.allSatisfy { (0x30...0x39).contains($0) }
            return isInteger ? Int64(text) : nil
        }
    }

    /// Returns the bare item of a field, without parameters.
    private func item(_ name: String) -> String? {
        self.fields[name].map { $0.prefix { $0 != ";" }.filter { $0 != " " } }
    }
}
