import BlobTransfer

/// A request about an object, as it is before it is signed.
struct S3Call: Sendable {
    var method = "GET"
    /// The names and values of the query, percent-encoded.
    var parameters: [(name: String, value: String)] = []
    /// The header fields, all of which are signed.
    var fields: [BlobHTTPField] = []
    /// The SHA-256 of the body in hexadecimal digits.
    var payloadHash = SigV4Request.emptyPayloadHash
    /// False when the request is made once only, unless the store refused it: its effect would come twice.
    var isRepeatable = true
}
