public import BlobCore
import BlobPlatform

/// The response to a request.
public struct RequestAnswer: Sendable {
    /// The status, from 200; a status below 200 for an interim response.
    public let status: Int
    /// The header fields, without the fields that frame the body.
    public let fields: [RequestHead.Field]
    /// The body; nil for an empty one, and for the answer to a HEAD request.
    public let body: (any BlobInputStreamDataSource)?
    /// The length of the body that a GET request would have, in bytes; nil if unknown.
    public let byteCount: Int64?
    /// The parts that this request completed.
    public let parts: [ReceivedPart]
    /// The parts as lines of JSON, without the last line ending; empty if there are none.
    public let lines: String

    /// Creates the response of a request that completed `parts`; its body is the lines of ``lines``.
    public init(status: Int, fields: [RequestHead.Field] = [], parts: [ReceivedPart] = []) {
        let lines = parts.map(\.line).joined(separator: "\n")
        // This status has no body (RFC 9110, section 15.3.5).
        let text = lines.isEmpty || status == 204 ? "" : lines + "\n"
        self.init(status: status, fields: fields, text: text, type: "application/x-ndjson", parts, lines)
    }

    /// Creates a response with a text, which is empty by default.
    public init(
        status: Int, fields: [RequestHead.Field] = [], text: String, type: String = "text/plain; charset=utf-8"
    ) { self.init(status: status, fields: fields, text: text, type: type, [], "") }

    /// Creates a response with the bytes of a source.
    ///
    /// - Parameters:
    ///   - status: The status.
    ///   - fields: The header fields, without the fields that frame the body.
    ///   - body: The body; nil for the answer to a HEAD request.
    ///   - byteCount: The length of the body; nil if unknown. A body of another length is an error.
    public init(
        status: Int, fields: [RequestHead.Field], body: (any BlobInputStreamDataSource)?, byteCount: Int64?
    ) {
        (self.status, self.fields, self.body, self.byteCount) = (status, fields, body, byteCount)
        (self.parts, self.lines) = ([], "")
    }

    private init(
        status: Int, fields: [RequestHead.Field], text: String, type: String, _ parts: [ReceivedPart], _ lines: String
    ) {
        let hasType = text.isEmpty || fields.contains { $0.name == "Content-Type" }
        (self.status, self.fields) = (status, hasType ? fields : fields + [("Content-Type", type)])
        self.body = text.isEmpty ? nil : MemorySource(Data(text.utf8))
        (self.byteCount, self.parts, self.lines) = (Int64(text.utf8.count), parts, lines)
    }
}

extension BlobError {
    /// The errors for a full disk, an exceeded quota, and a file that is too large.
    private static let fullDiskErrorNumbers: Set = [ENOSPC, EDQUOT, EFBIG]

    /// The response that refuses a request with this error.
    public var answer: RequestAnswer {
        let refusal = self.cause as? RequestRefusal
        let status =
            switch self.code {
            case _ where refusal != nil: refusal?.status ?? 500
            case .notFound: 404
            case .permissionDenied: 403
            case .limitExceeded: 413
            case .corrupted, .truncated, .invalidArgument: 400
            case .io where Self.fullDiskErrorNumbers.contains(self.systemErrorNumber ?? 0): 507
            default: 500
            }
        guard let problem = refusal?.problem else {
            return RequestAnswer(status: status, fields: refusal?.fields ?? [], text: self.description + "\n")
        }
        return RequestAnswer(
            status: status, fields: refusal?.fields ?? [], text: problem + "\n", type: "application/problem+json")
    }
}

/// The cause of an error that refuses a request with a specific response status.
public struct RequestRefusal: Error {
    /// The registry of problem types (RFC 9457, section 4.2).
    private static let problems = "https://iana.org/assignments/http-problem-types"

    /// The version of the tus protocol.
    static let tusVersion = "1.0.0"

    /// The status of the response.
    public let status: Int
    /// The header fields, without the fields that frame the body.
    ///
    /// A refusal about an upload has the fields of both protocols, because the upload may be continued with either one.
    public let fields: [RequestHead.Field]
    /// The body, as `application/problem+json`; nil to send the error's message as text.
    public let problem: String?

    static let missingUpload = Self.uploadError(404, "There is no such upload.")

    /// Returns an error whose response has `status`.
    public static func error(
        _ status: Int, _ message: String, _ fields: [RequestHead.Field] = [], problem: String? = nil
    ) -> BlobError {
        BlobError(.refused, message, isTransient: false, cause: Self(status: status, fields: fields, problem: problem))
    }

    /// Returns an error that refuses a request about an upload.
    static func uploadError(
        _ status: Int, _ message: String, _ fields: [RequestHead.Field] = [], problem: String? = nil
    ) -> BlobError {
        let fields = [("Tus-Resumable", self.tusVersion), ("Tus-Version", self.tusVersion)] + fields
        return self.error(status, message, fields, problem: problem)
    }

    static func wrongOffsetError(_ provided: Int64, expected: Int64) -> BlobError {
        self.uploadError(
            409, "\(expected) bytes of the upload have arrived, not \(provided).",
            [("Upload-Complete", "?0"), ("Upload-Offset", String(expected))],
            problem: """
                {"type":"\(self.problems)#mismatching-upload-offset","title":"Mismatching Upload Offset",\
                "expected-offset":\(expected),"provided-offset":\(provided)}
                """)
    }

    static func inconsistentLengthError(_ provided: Int64, expected: Int64) -> BlobError {
        self.uploadError(
            400, "The upload has \(expected) bytes, not \(provided).", [("Upload-Complete", "?0")],
            problem: """
                {"type":"\(self.problems)#inconsistent-upload-length","title":"Inconsistent Upload Length Values"}
                """)
    }
}

extension BlobError {
    /// The response status if this error refuses a request about an upload; nil for any other error.
    var refusalStatus: Int? { (self.cause as? RequestRefusal)?.status }
}

/// A part that has arrived completely, reported as one line of JSON for people and programs.
public struct ReceivedPart: Codable, Equatable, Sendable {
    /// The name of the field for a part of a form; otherwise the file name of the upload or the last component of the
    /// path.
    public var name: String
    /// The file name that the sender specified for a part of a form or for a resumable upload; nil otherwise.
    public var filename: String?
    /// The media type that the sender specified; nil if it specified none.
    public var mediaType: String?
    /// The length in bytes.
    public var byteCount: Int64
    /// The digest as lowercase hexadecimal digits.
    public var sha256: String
    /// The path of the file; nil if the part was not stored.
    public var file: String?

    private enum CodingKeys: String, CodingKey {
        case name, filename, sha256, file
        case mediaType = "media_type"
        case byteCount = "byte_count"
    }

    /// The field that states the digest (RFC 9530); empty until the digest is known.
    var digestFields: [RequestHead.Field] {
        guard let digest = Data(hexadecimal: self.sha256.utf8), !digest.isEmpty else { return [] }
        return [("Repr-Digest", "sha-256=:\(digest.base64EncodedString()):")]
    }

    /// The line of JSON without its line ending.
    public var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and numbers cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
