package import BlobCore
import BlobPlatform
import CryptoDigest

/// A request of the protocol tus 1.0.0 (https://tus.io/protocols/resumable-upload), with the extensions creation,
/// creation-with-upload, termination, checksum and concatenation.
package struct TusRequest: ResumableRequest {
    static let version = "1.0.0"

    private static let digests = [CryptoDigest.sha256, .sha1]

    private let method: String
    private let identifier: String
    let fields: [String: String]

    /// Creates the request; nil for one that is not of this protocol.
    ///
    /// A request at any path is one if it names a version, and so is any `OPTIONS`. `X-HTTP-Method-Override` replaces
    /// the method of a request that names a version.
    package init?(method: String, path: String, fields: some Sequence<RequestAnswer.Field>) {
        self.fields = Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        self.identifier = ResumableUploads.identifier(in: path) ?? ""
        let hasVersion = self.fields["tus-resumable"] != nil
        let override = hasVersion ? self.fields["x-http-method-override"] : nil
        self.method = override ?? method
        switch self.method {
        case "OPTIONS": return
        case "POST", "HEAD", "PATCH", "DELETE": guard hasVersion else { return nil }
        // Stored as a file of its own otherwise, and not as the part of an upload that it is.
        default: guard override != nil else { return nil }
        }
    }

    /// Carries out a request without a body, or returns the receiver of its body.
    ///
    /// - Parameter uploads: Nil when nothing is stored.
    /// - Throws: An error with a ``RequestRefusal`` as its cause, and the errors of the disk.
    package func makeReceiver(_ uploads: ResumableUploads?) throws(BlobError) -> (any BodyReceiver)? {
        guard let uploads else {
            throw UploadRefusal.error(501, "Resumable uploads need a folder: start the receiver with --directory.")
        }
        guard self.method != "OPTIONS" else { return TusAnswer(204, self.abilities(uploads)) }
        guard self.fields["tus-resumable"] == Self.version else {
            throw UploadRefusal.error(412, "The version of tus here is \(Self.version).")
        }
        do throws(BlobError) {
            switch self.method {
            case "POST": return try self.create(uploads)
            case "HEAD": return try self.describe(uploads.find(self.identifier))
            case "DELETE":
                try uploads.find(self.identifier).remove()
                return TusAnswer(204)
            case "PATCH": return try self.append(to: uploads.find(self.identifier))
            default: throw UploadRefusal.error(405, "The X-HTTP-Method-Override is no method of tus.")
            }
        } catch {
            throw error.code == .notFound ? UploadRefusal.error(404, error.message) : error
        }
    }

    private func abilities(_ uploads: ResumableUploads) -> [RequestAnswer.Field] {
        [
            ("Tus-Version", Self.version),
            ("Tus-Extension", "creation,creation-with-upload,termination,checksum,concatenation"),
            ("Tus-Max-Size", String(uploads.maximumByteCount)),
            ("Tus-Checksum-Algorithm", Self.digests.map(\.name).joined(separator: ",")),
            DraftRequest.limit(uploads),
        ]
    }

    private func create(_ uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        let concatenation = self.fields["upload-concat"]
        if let concatenation, concatenation != "partial" { return try self.concatenate(concatenation, in: uploads) }
        guard let byteCount = self.number("upload-length") else {
            throw UploadRefusal.error(400, "A creation has the Upload-Length in bytes.")
        }
        guard byteCount <= uploads.maximumByteCount else {
            throw UploadRefusal.error(413, "The upload has more bytes than the limit of \(uploads.maximumByteCount).")
        }
        let part = try self.part(byteCount: byteCount)
        let hasBody = self.number("content-length") ?? 0 > 0 || self.fields["transfer-encoding"] != nil
        if hasBody { try self.checkContentType() }
        let checksum = hasBody ? try self.checksum : nil
        let upload = try uploads.create(UploadRecord(part: part, concatenation == nil ? [] : [.partial]))
        let location = ("Location", upload.path)
        return try TusReceiver(upload, at: 0, checksum, status: 201, [location])
    }

    /// Returns the facts that the metadata tells about an upload.
    func part(byteCount: Int64) throws(BlobError) -> ReceivedPart {
        let metadata = try TusMetadata(self.fields["upload-metadata"] ?? "")
        let filename = metadata["filename"] ?? metadata["name"]
        return ReceivedPart(
            name: filename ?? "upload", filename: filename, mediaType: metadata["filetype"] ?? metadata["type"],
            byteCount: byteCount, sha256: "")
    }

    private func describe(_ upload: ResumableUpload) throws(BlobError) -> any BodyReceiver {
        let facts = try upload.facts()
        // An earlier receiver may have been killed before it named the complete file.
        let parts = [try upload.complete()].compactMap(\.self)
        let concatenation = facts.record.has(.partial) ? "partial" : facts.record.concatenation
        return TusAnswer(
            200,
            [
                ("Upload-Offset", String(facts.arrivedByteCount)),
                facts.byteCount.map { ("Upload-Length", String($0)) } ?? ("Upload-Defer-Length", "1"),
                ("Cache-Control", "no-store"),
            ] + [concatenation.map { ("Upload-Concat", $0) }].compactMap(\.self), parts)
    }

    private func append(to upload: ResumableUpload) throws(BlobError) -> any BodyReceiver {
        try self.checkContentType()
        guard let offset = self.number("upload-offset") else {
            throw UploadRefusal.error(400, "A PATCH has the Upload-Offset in bytes.")
        }
        let byteCount = try upload.facts().record.part.byteCount
        guard self.number("content-length") ?? 0 <= max(0, byteCount - offset) else {
            throw UploadRefusal.error(413, "The upload has only \(byteCount) bytes.")
        }
        return try TusReceiver(upload, at: offset, self.checksum, status: 204)
    }

    private func checkContentType() throws(BlobError) {
        guard self.fields["content-type"]?.lowercased() == "application/offset+octet-stream" else {
            throw UploadRefusal.error(415, "The Content-Type is application/offset+octet-stream.")
        }
    }

    private var checksum: TusChecksum? {
        get throws(BlobError) {
            guard let text = self.fields["upload-checksum"] else { return nil }
            let words = text.split(separator: " ")
            guard words.count == 2, let digest = Self.digests.first(where: { $0.name == words[0] }),
                let expected = Data(base64Encoded: String(words[1]))
            else { throw UploadRefusal.error(400, "The Upload-Checksum is of sha256 or sha1, in base64.") }
            return TusChecksum(hasher: digest.makeHasher(), expected: Array(expected))
        }
    }

    /// Returns the value of a field that is a number of bytes; nil for anything but digits.
    private func number(_ name: String) -> Int64? {
        self.fields[name].flatMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64($0) : nil }
    }
}
