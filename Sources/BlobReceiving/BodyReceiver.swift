package import BlobCore
import BlobPlatform

/// Receives the body of one request. Use it on one thread at a time.
package protocol BodyReceiver: AnyObject {
    /// The interim response to send before the body arrives; nil to send none.
    var interimAnswer: RequestAnswer? { get }

    /// Receives the next bytes of the body.
    ///
    /// - Throws: The error with which to refuse the request. Call ``abandon()`` next.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError)

    /// Completes the request and returns its response. Call this method only after the connection has confirmed that
    /// the body is complete.
    func answer() throws(BlobError) -> RequestAnswer

    /// Ends a request that will not be completed. A second call has no effect.
    func abandon()
}

extension BodyReceiver {
    package var interimAnswer: RequestAnswer? { nil }
}

/// The receiver of a request without a body that has already been carried out.
final class AnsweredRequest: BodyReceiver {
    private let result: RequestAnswer

    init(_ status: Int, _ fields: [RequestAnswer.Field] = [], _ parts: [ReceivedPart] = []) {
        self.result = RequestAnswer(status: status, fields: fields, parts: parts)
    }

    func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        throw RequestRefusal.error(400, "This request has no body.")
    }

    func answer() -> RequestAnswer { self.result }

    func abandon() {}
}

/// The response to a request that was not refused.
package struct RequestAnswer: Sendable {
    package typealias Field = (name: String, value: String)

    /// A status from 200 to 299 or 404, or a status below 200 for an interim response.
    package let status: Int
    /// The header fields, without the fields that frame the body.
    package let fields: [Field]
    /// The parts that this request completed.
    package let parts: [ReceivedPart]

    package init(status: Int, fields: [Field] = [], parts: [ReceivedPart] = []) {
        (self.status, self.fields, self.parts) = (status, fields, parts)
    }
}

/// The cause of an error that refuses a request about an upload with a specific response status.
package struct RequestRefusal: Error {
    /// The registry of problem types (RFC 9457, section 4.2).
    private static let problems = "https://iana.org/assignments/http-problem-types"

    /// The version of the tus protocol.
    static let tusVersion = "1.0.0"

    package let status: Int
    /// The header fields, without the fields that frame the body.
    ///
    /// Includes the fields of both protocols, because an upload may be continued with either one.
    package let fields: [RequestAnswer.Field]
    /// The body, as `application/problem+json`; nil to send the error's message as text.
    package let problem: String?

    static let missingUpload = Self.error(404, "There is no such upload.")

    /// Returns an error whose response has `status`.
    static func error(
        _ status: Int, _ message: String, _ fields: [RequestAnswer.Field] = [], problem: String? = nil
    ) -> BlobError {
        let fields = [("Tus-Resumable", self.tusVersion), ("Tus-Version", self.tusVersion)] + fields
        return BlobError(
            .refused, message, isTransient: false, cause: Self(status: status, fields: fields, problem: problem))
    }

    static func wrongOffsetError(_ provided: Int64, expected: Int64) -> BlobError {
        self.error(
            409, "\(expected) bytes of the upload have arrived, not \(provided).",
            [("Upload-Complete", "?0"), ("Upload-Offset", String(expected))],
            problem: """
                {"type":"\(self.problems)#mismatching-upload-offset","title":"Mismatching Upload Offset",\
                "expected-offset":\(expected),"provided-offset":\(provided)}
                """)
    }

    static func inconsistentLengthError(_ provided: Int64, expected: Int64) -> BlobError {
        self.error(
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
package struct ReceivedPart: Codable, Equatable, Sendable {
    /// The name of the field for a part of a form; otherwise the file name of the upload or the last component of the
    /// path.
    package var name: String
    /// The file name that the sender specified for a part of a form or for a resumable upload; nil otherwise.
    package var filename: String?
    package var mediaType: String?
    package var byteCount: Int64
    /// The digest as lowercase hexadecimal digits.
    package var sha256: String
    /// The path of the file; nil if the part was not stored.
    package var file: String?

    private enum CodingKeys: String, CodingKey {
        case name, filename, sha256, file
        case mediaType = "media_type"
        case byteCount = "byte_count"
    }

    /// The field that states the digest (RFC 9530); empty until the digest is known.
    var digestFields: [RequestAnswer.Field] {
        guard let digest = Data(hexadecimal: self.sha256.utf8), !digest.isEmpty else { return [] }
        return [("Repr-Digest", "sha-256=:\(digest.base64EncodedString()):")]
    }

    /// The line of JSON without its line ending.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Encoding strings and numbers cannot fail.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
