package import BlobCore
import BlobPlatform

/// Receives the body of one request, on one thread at a time.
package protocol BodyReceiver: AnyObject {
    /// The interim answer that is sent before the body arrives; nil for none.
    var interimAnswer: RequestAnswer? { get }

    /// - Throws: The error for which the request is refused; ``abandon()`` is called next.
    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError)

    /// Ends a body that is complete. Called only when the connection has confirmed that.
    func answer() throws(BlobError) -> RequestAnswer

    /// Ends a request that will not be completed. A second call has no effect.
    func abandon()
}

extension BodyReceiver {
    package var interimAnswer: RequestAnswer? { nil }
}

/// The receiver of a request without a body, which was carried out already.
final class AnsweredRequest: BodyReceiver {
    private let result: RequestAnswer

    init(_ status: Int, _ fields: [RequestAnswer.Field] = [], _ parts: [ReceivedPart] = []) {
        self.result = RequestAnswer(status: status, fields: fields, parts: parts)
    }

    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        throw RequestRefusal.error(400, "This request has no body.")
    }

    func answer() -> RequestAnswer { self.result }

    func abandon() {}
}

/// The answer to a request that was not refused.
package struct RequestAnswer: Sendable {
    package typealias Field = (name: String, value: String)

    /// A status of 200 to 299, or 404; an interim answer has one below 200.
    package let status: Int
    /// The header fields, without those that frame the body.
    package let fields: [Field]
    /// The parts that are complete now.
    package let parts: [ReceivedPart]

    package init(status: Int, fields: [Field] = [], parts: [ReceivedPart] = []) {
        (self.status, self.fields, self.parts) = (status, fields, parts)
    }
}

/// The cause of an error that is answered with a status of its own: a request about an upload was refused.
package struct RequestRefusal: Error {
    /// The registry of the types of problems (RFC 9457, section 4.2).
    private static let problems = "https://iana.org/assignments/http-problem-types"

    /// The version of the protocol tus.
    static let tusVersion = "1.0.0"

    package let status: Int
    /// The header fields, without those that frame the body; those of both protocols, because an upload may be continued
    /// by either.
    package let fields: [RequestAnswer.Field]
    /// The body, as `application/problem+json`; nil for the message of the error as text.
    package let problem: String?

    static let missing = Self.error(404, "There is no such upload.")

    /// Returns an error that is answered with `status`.
    static func error(
        _ status: Int, _ message: String, _ fields: [RequestAnswer.Field] = [], problem: String? = nil
    ) -> BlobError {
        let fields = [("Tus-Resumable", self.tusVersion), ("Tus-Version", self.tusVersion)] + fields
        return BlobError(
            .refused, message, isTransient: false, cause: Self(status: status, fields: fields, problem: problem))
    }

    static func wrongOffset(_ provided: Int64, expected: Int64) -> BlobError {
        self.error(
            409, "\(expected) bytes of the upload have arrived, not \(provided).",
            [("Upload-Complete", "?0"), ("Upload-Offset", String(expected))],
            problem: """
                {"type":"\(self.problems)#mismatching-upload-offset","title":"Mismatching Upload Offset",\
                "expected-offset":\(expected),"provided-offset":\(provided)}
                """)
    }

    static func inconsistentLength(_ provided: Int64, expected: Int64) -> BlobError {
        self.error(
            400, "The upload has \(expected) bytes, not \(provided).", [("Upload-Complete", "?0")],
            problem: """
                {"type":"\(self.problems)#inconsistent-upload-length","title":"Inconsistent Upload Length Values"}
                """)
    }
}

extension BlobError {
    /// The status with which a request is refused; nil for another error.
    var refusalStatus: Int? { (self.cause as? RequestRefusal)?.status }
}

/// A part that has arrived completely, reported as one line of JSON for people and programs.
package struct ReceivedPart: Codable, Equatable, Sendable {
    /// The last component of the path for a raw body, the name of the field for a part of a form.
    package var name: String
    /// The file name that the sender gave; only parts of forms have one.
    package var filename: String?
    package var mediaType: String?
    package var byteCount: Int64
    /// The digest in lower-case hexadecimal.
    package var sha256: String
    /// The path of the file; nil if the part was not stored.
    package var file: String?

    private enum CodingKeys: String, CodingKey {
        case name, filename, sha256, file
        case mediaType = "media_type"
        case byteCount = "byte_count"
    }

    /// The field that states the digest (RFC 9530); none before it is known.
    var digestFields: [RequestAnswer.Field] {
        guard let digest = Data(hexadecimal: self.sha256.utf8), !digest.isEmpty else { return [] }
        return [("Repr-Digest", "sha-256=:\(digest.base64EncodedString()):")]
    }

    /// The line of JSON, without its line end.
    package var line: String {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        // Strings and numbers cannot fail to be encoded.
        return (try? encoder.encode(self)).map { String(decoding: $0, as: UTF8.self) } ?? "{}"
    }
}
