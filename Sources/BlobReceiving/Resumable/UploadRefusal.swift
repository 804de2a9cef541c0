import BlobCore

/// The refusals of requests about resumable uploads.
///
/// They have the fields of both protocols, because an upload may be continued by either.
enum UploadRefusal {
    /// The registry of the types of problems (RFC 9457, section 4.2).
    private static let problems = "https://iana.org/assignments/http-problem-types"

    static let missing = BlobError(.notFound, "There is no such upload.")

    /// Returns an error that is answered with `status`.
    ///
    /// - Parameter problem: The body, `application/problem+json`; nil for the message as text.
    static func error(
        _ status: Int, _ message: String, _ fields: [RequestAnswer.Field] = [], problem: String? = nil
    ) -> BlobError {
        let fields = [("Tus-Resumable", TusRequest.version), ("Tus-Version", TusRequest.version)] + fields
        return BlobError(
            .refused, message, isTransient: false,
            cause: RequestRefusal(status: status, fields: fields, problem: problem))
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
