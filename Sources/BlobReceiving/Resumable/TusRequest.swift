package import BlobCore
import CryptoDigest
import Foundation

/// A request of the protocol tus 1.0.0 (https://tus.io/protocols/resumable-upload), with the extensions creation,
/// creation-with-upload, termination and checksum.
package struct TusRequest: Sendable {
    static let version = "1.0.0"

    /// The path of all uploads; each has its identifier behind it.
    private static let path = "/files/"

    private static let digests = [CryptoDigest.sha256, .sha1]

    private let method: String
    private let identifier: String
    private let fields: [String: String]

    /// Creates the request; nil for one that is not of this protocol.
    ///
    /// A `POST` at any path is one if it names a version. All other methods but `PUT` are at the path of an upload.
    package init?(method: String, path: String, fields: some Sequence<RequestAnswer.Field>) {
        self.method = method
        self.fields = Dictionary(fields.map { ($0.name.lowercased(), $0.value) }) { first, _ in first }
        let isUpload = path.hasPrefix(Self.path)
        self.identifier = isUpload ? String(path.dropFirst(Self.path.count)) : ""
        switch method {
        case "OPTIONS": return
        case "POST": guard self.fields["tus-resumable"] != nil else { return nil }
        case "HEAD", "PATCH", "DELETE": guard isUpload || self.fields["tus-resumable"] != nil else { return nil }
        default: return nil
        }
    }

    /// Carries out a request without a body, or returns the receiver of its body.
    ///
    /// - Parameter uploads: Nil when nothing is stored.
    /// - Throws: An error with a ``RequestRefusal`` as its cause, and the errors of the disk.
    package func makeReceiver(_ uploads: ResumableUploads?) throws(BlobError) -> any BodyReceiver {
        guard let uploads else {
            throw Self.refusal(501, "Resumable uploads need a folder: start the receiver with --directory.")
        }
        guard self.method != "OPTIONS" else { return TusAnswer(204, self.abilities(uploads)) }
        guard self.fields["tus-resumable"] == Self.version else {
            throw Self.refusal(412, "The version of tus here is \(Self.version).")
        }
        do {
            switch self.method {
            case "POST": return try self.create(uploads)
            case "HEAD": return try self.describe(uploads.find(self.identifier))
            case "DELETE":
                try uploads.find(self.identifier).remove()
                return TusAnswer(204)
            default: return try self.append(to: uploads.find(self.identifier))
            }
        } catch {
            throw error.code == .notFound ? Self.refusal(404, error.message) : error
        }
    }

    /// Returns an error that is answered with `status`.
    static func refusal(_ status: Int, _ message: String) -> BlobError {
        let fields = [("Tus-Resumable", self.version), ("Tus-Version", self.version)]
        return BlobError(
            .refused, message, isTransient: false, cause: RequestRefusal(status: status, fields: fields))
    }

    private func abilities(_ uploads: ResumableUploads) -> [RequestAnswer.Field] {
        [
            ("Tus-Version", Self.version), ("Tus-Extension", "creation,creation-with-upload,termination,checksum"),
            ("Tus-Max-Size", String(uploads.maximumByteCount)),
            ("Tus-Checksum-Algorithm", Self.digests.map(\.name).joined(separator: ",")),
        ]
    }

    private func create(_ uploads: ResumableUploads) throws(BlobError) -> any BodyReceiver {
        guard let byteCount = self.number("upload-length") else {
            throw Self.refusal(400, "A creation has the Upload-Length in bytes.")
        }
        guard byteCount <= uploads.maximumByteCount else {
            throw Self.refusal(413, "The upload has more bytes than the limit of \(uploads.maximumByteCount).")
        }
        let metadata = try TusMetadata(self.fields["upload-metadata"] ?? "")
        let hasBody = self.number("content-length") ?? 0 > 0 || self.fields["transfer-encoding"] != nil
        if hasBody { try self.checkContentType() }
        let checksum = hasBody ? try self.checksum : nil
        let filename = metadata["filename"] ?? metadata["name"]
        let upload = try uploads.create(
            ReceivedPart(
                name: filename ?? "upload", filename: filename,
                mediaType: metadata["filetype"] ?? metadata["type"], byteCount: byteCount, sha256: ""))
        let location = ("Location", "\(Self.path)\(upload.identifier)")
        return try TusReceiver(upload, at: 0, checksum, status: 201, [location])
    }

    private func describe(_ upload: ResumableUpload) throws(BlobError) -> any BodyReceiver {
        let offset = try upload.arrivedByteCount
        // Those of a receiver that was killed before it could name the file.
        let parts = [try upload.complete()].compactMap(\.self)
        return TusAnswer(
            200,
            [
                ("Upload-Offset", String(offset)), ("Upload-Length", String(upload.byteCount)),
                ("Cache-Control", "no-store"),
            ], parts)
    }

    private func append(to upload: ResumableUpload) throws(BlobError) -> any BodyReceiver {
        try self.checkContentType()
        guard let offset = self.number("upload-offset") else {
            throw Self.refusal(400, "A PATCH has the Upload-Offset in bytes.")
        }
        guard self.number("content-length") ?? 0 <= max(0, upload.byteCount - offset) else {
            throw Self.refusal(413, "The upload has only \(upload.byteCount) bytes.")
        }
        return try TusReceiver(upload, at: offset, self.checksum, status: 204)
    }

    private func checkContentType() throws(BlobError) {
        guard self.fields["content-type"]?.lowercased() == "application/offset+octet-stream" else {
            throw Self.refusal(415, "The Content-Type is application/offset+octet-stream.")
        }
    }

    private var checksum: TusChecksum? {
        get throws(BlobError) {
            guard let text = self.fields["upload-checksum"] else { return nil }
            let words = text.split(separator: " ")
            guard words.count == 2, let digest = Self.digests.first(where: { $0.name == words[0] }),
                let expected = Data(base64Encoded: String(words[1]))
            else { throw Self.refusal(400, "The Upload-Checksum is of sha256 or sha1, in base64.") }
            return TusChecksum(hasher: digest.makeHasher(), expected: Array(expected))
        }
    }

    /// Returns the value of a field that is a number of bytes; nil for anything but digits.
    private func number(_ name: String) -> Int64? {
        self.fields[name].flatMap { $0.utf8.allSatisfy { (0x30...0x39).contains($0) } ? Int64($0) : nil }
    }
}
