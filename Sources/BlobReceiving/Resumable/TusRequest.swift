import BlobCore
import BlobPlatform
import BlobTransfer

/// A request of the tus protocol, version 1.0.0 (https://tus.io/protocols/resumable-upload), with the extensions
/// creation, creation-with-upload, termination, checksum and concatenation.
struct TusRequest: ResumableRequest {
    private static let version = RequestRefusal.tusVersion

    /// The names of the supported algorithms.
    private static let algorithms = StatedAlgorithm.allCases.filter { $0.makeHasher() != nil }.map(\.rawValue).sorted()

    private let method: String
    private let identifier: String
    private let fields: [String: String]
    private let digests: RequestDigests

    var isWholeBody: Bool { false }

    /// Creates the request; fails if it does not belong to this protocol.
    ///
    /// A request belongs to this protocol if it is an `OPTIONS` request, or if it names a version and its method is
    /// `POST`, `HEAD`, `PATCH` or `DELETE`, regardless of its path. In a request that names a version,
    /// `X-HTTP-Method-Override` replaces the method, and any method belongs to this protocol.
    init?(_ head: RequestHead) {
        self.fields = Dictionary(head.fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        self.digests = RequestDigests(head.fields)
        self.identifier = ResumableUploads.identifier(in: head.target) ?? ""
        let hasVersion = self.fields["tus-resumable"] != nil
        let override = hasVersion ? self.fields["x-http-method-override"] : nil
        self.method = override ?? head.method
        switch self.method {
        case "OPTIONS": return
        case "POST", "HEAD", "PATCH", "DELETE": guard hasVersion else { return nil }
        // Otherwise, the request would be stored as a file of its own rather than as part of its upload.
        default: guard override != nil else { return nil }
        }
    }

    func makeReceiver(in uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        guard self.method != "OPTIONS" else {
            return AnsweredRequest(Self.answer(204, self.abilities(uploads)))
        }
        guard self.fields["tus-resumable"] == Self.version else {
            throw RequestRefusal.uploadError(412, "The only supported version of tus is \(Self.version).")
        }
        switch self.method {
        case "POST": return try self.create(uploads)
        case "HEAD":
            return AnsweredRequest { () throws(BlobError) in try self.describe(uploads.find(self.identifier)) }
        case "DELETE":
            return AnsweredRequest { () throws(BlobError) in
                try uploads.find(self.identifier).remove()
                return Self.answer(204)
            }
        case "PATCH": return try self.append(to: uploads.find(self.identifier))
        default: throw RequestRefusal.uploadError(405, "The value of X-HTTP-Method-Override is not a tus method.")
        }
    }

    private static func answer(
        _ status: Int, _ fields: [RequestHead.Field] = [], _ parts: [ReceivedPart] = []
    ) -> RequestAnswer {
        RequestAnswer(status: status, fields: [("Tus-Resumable", self.version)] + fields, parts: parts)
    }

    private func abilities(_ uploads: ResumableUploads) -> [RequestHead.Field] {
        [
            ("Tus-Version", Self.version),
            ("Tus-Extension", "creation,creation-with-upload,termination,checksum,concatenation"),
            ("Tus-Max-Size", String(uploads.maximumByteCount)),
            ("Tus-Checksum-Algorithm", Self.algorithms.joined(separator: ",")),
            DraftRequest.limitField(uploads),
        ]
    }

    private func create(_ uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        let concatenation = self.fields["upload-concat"]
        if let concatenation, concatenation != "partial" {
            return AnsweredRequest { () throws(BlobError) in try self.concatenate(concatenation, in: uploads) }
        }
        guard let byteCount = self.number("upload-length") else {
            throw RequestRefusal.uploadError(400, "A creation request must have an Upload-Length in bytes.")
        }
        try uploads.checkLimit(byteCount)
        let part = try self.part(byteCount: byteCount)
        let hasBody = self.number("content-length") ?? 0 > 0 || self.fields["transfer-encoding"] != nil
        if hasBody { try self.checkContentType() }
        let checksum = hasBody ? try self.checksum : []
        var record = UploadRecord(part: part, concatenation == nil ? [] : [.partial])
        record.digests = BlobStatedDigest.fieldValue(self.digests.representation)
        let upload = try uploads.create(record)
        return try self.receiver(
            upload, at: 0, self.digests.content + checksum, status: 201, [("Location", upload.path)])
    }

    /// Creates a final upload.
    ///
    /// - Parameter value: The value of `Upload-Concat`: `final;` and the URLs of the parts, separated by spaces.
    /// - Throws: A refusal with 400 for any other value, and for a part that is not a partial upload or is not
    ///   complete; with 404 for a part that does not exist; with 413 for more bytes than the limit.
    private func concatenate(_ value: String, in uploads: ResumableUploads) throws(BlobError) -> RequestAnswer {
        let words = value.split(separator: ";", maxSplits: 1)
        guard words.count == 2, words[0] == "final" else {
            throw RequestRefusal.uploadError(
                400, "Upload-Concat must be 'partial', or 'final;' followed by the URLs of the parts.")
        }
        var (parts, byteCount): ([ResumableUpload], Int64) = ([], 0)
        for url in words[1].split(separator: " ") {
            let part = try uploads.find(ResumableUploads.identifier(in: Self.path(of: url)) ?? "")
            let facts = try part.facts()
            guard facts.record.has(.partial), facts.isWhole else {
                throw RequestRefusal.uploadError(400, "\(url) is not a partial upload or is not complete.")
            }
            guard facts.arrivedByteCount <= uploads.maximumByteCount - byteCount else {
                throw RequestRefusal.uploadError(
                    413, "The parts have more bytes than the limit of \(uploads.maximumByteCount).")
            }
            parts.append(part)
            byteCount += facts.arrivedByteCount
        }
        guard !parts.isEmpty else { throw RequestRefusal.uploadError(400, "The final upload has no parts.") }
        var record = UploadRecord(part: try self.part(byteCount: byteCount))
        record.concatenation = value
        record.digests = BlobStatedDigest.fieldValue(self.digests.representation)
        let upload = try uploads.concatenate(
            parts, as: record, words: parts.map(\.identifier) + [self.fields["upload-metadata"] ?? ""])
        return Self.answer(201, [("Location", upload.path)], try upload.completeParts())
    }

    /// Returns the path of an `http` URL, or of a URL without a scheme and host.
    private static func path(of url: Substring) -> String {
        guard let scheme = url.firstRange(of: "://") else { return String(url) }
        return String(url[scheme.upperBound...].drop { $0 != "/" })
    }

    /// Returns the facts about an upload from its metadata.
    private func part(byteCount: Int64) throws(BlobError) -> ReceivedPart {
        let metadata = try self.metadata
        let filename = metadata["filename"] ?? metadata["name"]
        return ReceivedPart(
            name: filename ?? "upload", filename: filename, mediaType: metadata["filetype"] ?? metadata["type"],
            byteCount: byteCount, sha256: "")
    }

    /// The nonempty values of `Upload-Metadata`, keyed by name. The field contains comma-separated pairs of a key and a
    /// base64 value.
    private var metadata: [String: String] {
        get throws(BlobError) {
            var values: [String: String] = [:]
            for pair in (self.fields["upload-metadata"] ?? "").split(separator: ",") {
                let words = pair.split(separator: " ")
                guard (1...2).contains(words.count),
                    let value = Data(base64Encoded: words.count > 1 ? String(words[1]) : ""),
                    values.updateValue(String(decoding: value, as: UTF8.self), forKey: String(words[0])) == nil
                else {
                    throw RequestRefusal.uploadError(
                        400, "Upload-Metadata must be pairs of a key and a value in base64.")
                }
            }
            return values.filter { !$0.value.isEmpty }
        }
    }

    private func describe(_ upload: ResumableUpload) throws(BlobError) -> RequestAnswer {
        let facts = try upload.facts()
        // An earlier receiver may have been killed before it named the complete file.
        let parts = try upload.completeParts()
        let concatenation = facts.record.has(.partial) ? "partial" : facts.record.concatenation
        return Self.answer(
            200,
            [
                ("Upload-Offset", String(facts.arrivedByteCount)),
                facts.byteCount.map { ("Upload-Length", String($0)) } ?? ("Upload-Defer-Length", "1"),
                ("Cache-Control", "no-store"),
            ] + [concatenation.map { ("Upload-Concat", $0) }].compactMap(\.self)
                + (try upload.facts().record.part.digestFields), parts)
    }

    private func append(to upload: ResumableUpload) throws(BlobError) -> any BodyReceiver {
        try self.checkContentType()
        guard let offset = self.number("upload-offset"), offset < .max else {
            throw RequestRefusal.uploadError(400, "A PATCH request must have an Upload-Offset in bytes.")
        }
        let byteCount = try upload.facts().record.part.byteCount
        guard self.number("content-length") ?? 0 <= max(0, byteCount - offset) else {
            throw RequestRefusal.uploadError(413, "The request exceeds the upload's length of \(byteCount) bytes.")
        }
        return try self.receiver(upload, at: offset, self.digests.all + self.checksum, status: 204)
    }

    private func receiver(
        _ upload: ResumableUpload, at offset: Int64, _ digests: [BlobStatedDigest], status: Int,
        _ fields: [RequestHead.Field] = []
    ) throws(BlobError) -> ResumableReceiver {
        try ResumableReceiver(
            upload, at: offset, .tus, digests, status: status, [("Tus-Resumable", Self.version)] + fields)
    }

    private func checkContentType() throws(BlobError) {
        guard self.fields["content-type"]?.lowercased() == "application/offset+octet-stream" else {
            throw RequestRefusal.uploadError(415, "The Content-Type must be application/offset+octet-stream.")
        }
    }

    private var checksum: [BlobStatedDigest] {
        get throws(BlobError) {
            guard let text = self.fields["upload-checksum"] else { return [] }
            let words = text.split(separator: " ")
            guard words.count == 2, Self.algorithms.contains(String(words[0])),
                let algorithm = StatedAlgorithm(rawValue: String(words[0])),
                Data(base64Encoded: String(words[1])) != nil
            else {
                let names = Self.algorithms.joined(separator: ", ")
                throw RequestRefusal.uploadError(
                    400, "Upload-Checksum must be one of \(names), followed by a value in base64.")
            }
            return [BlobStatedDigest(algorithm, base64: String(words[1]), "Upload-Checksum")]
        }
    }

    /// Returns the value of a field that contains a number of bytes; nil unless the value consists of digits.
    private func number(_ name: String) -> Int64? {
        self.fields[name].flatMap(RequestHead.byteCount)
    }
}
