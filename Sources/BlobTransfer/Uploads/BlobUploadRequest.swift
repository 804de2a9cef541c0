public import BlobCore

/// An upload request without its body.
public struct BlobUploadRequest: Sendable {
    /// The method of a request.
    public enum Method: String, Sendable {
        case put = "PUT"
        case post = "POST"
        case patch = "PATCH"
        /// A request without a body; its source must be empty.
        case head = "HEAD"
    }

    /// An `http` or `https` URL.
    public var url: String

    /// The method. The default is ``Method/put``.
    public var method: Method

    /// The header fields, which are sent unchanged. `Content-Type` replaces the media type of the source.
    ///
    /// The uploader sets the fields that frame the body (`Content-Length`, `Transfer-Encoding` and `Expect`), so they
    /// are rejected here.
    public var fields: [BlobHTTPField]

    /// The detection of the media type from the first bytes of the body; ignored if a field or the source states the
    /// media type.
    package var mediaTypeDetection: MediaTypeDetection?

    /// A method to use instead of ``Method/head``, such as `DELETE`; nil to use ``Method/head``.
    package var otherMethod: String?
    /// The name of the method that is sent.
    var methodName: String { self.otherMethod ?? self.method.rawValue }

    /// False to send a large body without first asking whether the server accepts it.
    var hasExpectation = true
    /// True if the response contains a digest of the body, which the caller compares. A success that was sent before
    /// the body had been read cannot contain it, so a body of any length may share a connection.
    package var isProvenByResponse = false

    /// True to send the body in chunks even if its length is known. A body of unknown length is always sent in chunks.
    public var isChunked = false

    /// The maximum rate in bytes per second, above 0; nil for no limit.
    public var rateLimit: Int64?

    /// The rate limit that this request shares with others, used instead of ``rateLimit``.
    package var allowance: ByteAllowance?

    /// The longest time without activity on the connection; nil uses the idle limit of the context.
    public var idleLimit: Duration?

    /// The settings of the connection. A shorter idle limit takes precedence over the limit for connecting.
    public var settings = BlobTransferSettings()

    /// The rules for repeating the request after transient errors. By default, the request is not repeated.
    ///
    /// ``BlobRetry/identity`` has no effect. A POST is repeated only if the server received no part of it or refused
    /// it.
    public var retry = BlobRetry(maximumRetryCount: 0)

    /// The maximum number of repetitions by ``retry``. The default is 0.
    public var maximumRetryCount: Int {
        get { self.retry.maximumRetryCount }
        set { self.retry.maximumRetryCount = newValue }
    }

    /// True if making the request twice has no further effect; nil to assume this only of a PUT.
    package var isRepeatable: Bool?

    /// The maximum number of redirections to follow. The default is 0.
    ///
    /// Only redirections with status 307 or 308 to the same origin are followed, and only if the source is repeatable.
    public var maximumRedirectionCount = 0

    /// Called on the upload's task or thread with the error after which the request is repeated.
    public var onRetry: (@Sendable (BlobError) -> Void)?

    /// Called at the same times as ``onRetry``.
    package var onAttempt: (@Sendable (RetryFailures.Attempt) -> Void)?

    /// Called on the upload's task or thread with the number of body bytes handed to the connection so far, and the
    /// length of the body; the length is nil if unknown.
    ///
    /// Called at most about fifty times a second, and with the final number of each attempt.
    public var onProgress: (@Sendable (_ sent: Int64, _ byteCount: Int64?) -> Void)?

    /// Called on the upload's task or thread with each piece of the body of a successful response; if nil, the response
    /// contains the beginning of the body.
    public var onResponseBody: (@Sendable (UnsafeRawBufferPointer) throws -> Void)?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method. ``retry`` states when a POST is repeated.
    ///   - url: An `http` or `https` URL. Its user and password are sent with Basic authentication.
    ///   - fields: The header fields.
    public init(_ method: Method = .put, _ url: String, fields: [BlobHTTPField] = []) {
        self.method = method
        self.url = url
        self.fields = fields
    }

    /// Returns this request for the URL to which a response redirects; nil if it must not be sent there.
    ///
    /// Only 307 and 308 preserve the method and the body (RFC 9110, sections 15.4.8 and 15.4.9). The fields and
    /// credentials are sent only to the same origin.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` if the URL of this request is invalid.
    func redirected(by response: BlobUploadResponse) throws(BlobError) -> BlobUploadRequest? {
        guard response.status == 307 || response.status == 308, let location = response.head.location else {
            return nil
        }
        let url = try TransferURL(self.url)
        guard let target = try? url.resolving(location), target.origin == url.origin else { return nil }
        var upload = self
        upload.url = target.text
        // Credentials in a URL from the server are ignored.
        upload.settings.credentials = self.settings.credentials ?? url.credentials
        return upload
    }
}

extension BlobUploadRequest {
    /// Detects the media type from the first bytes of a body.
    package struct MediaTypeDetection: Sendable {
        let byteCount: Int
        let mediaType: @Sendable (UnsafeRawBufferPointer) -> String?

        /// - Parameters:
        ///   - byteCount: The number of bytes that suffice, from 1 to 2048. A shorter body provides fewer.
        ///   - mediaType: Returns the media type; nil if the bytes do not determine it.
        package init(byteCount: Int, _ mediaType: @escaping @Sendable (UnsafeRawBufferPointer) -> String?) {
            precondition((1...2048).contains(byteCount), "The number of bytes must be from 1 to 2048.")
            (self.byteCount, self.mediaType) = (byteCount, mediaType)
        }
    }

    /// The detection of the media type; nil if a field states the media type.
    var neededMediaTypeDetection: MediaTypeDetection? {
        self.fields.contains { $0.name.lowercased() == "content-type" } ? nil : self.mediaTypeDetection
    }

    /// The rate limit of this request, which others may share.
    var ownAllowance: ByteAllowance? { self.allowance ?? self.rateLimit.map { ByteAllowance(bytesPerSecond: $0) } }

    /// The URL, with `***` in place of possible secrets.
    package var printableURL: String { BlobCore.printableURL(self.url) }

    /// Checks that the request can be sent.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if the URL, the rate limit or a field is invalid.
    package func validate() throws(BlobError) {
        let lowercased = self.url.lowercased()
        guard lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") else {
            throw BlobError(.invalidArgument, "An upload needs an http:// or https:// URL, not \(self.printableURL).")
        }
        guard self.url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw BlobError(.invalidArgument, "The URL \(self.printableURL) contains a space or a control character.")
        }
        guard self.rateLimit ?? 1 > 0 else { throw BlobError(.invalidArgument, "The rate limit must be above 0.") }
        try BlobHTTPField.validate(
            self.fields, reserved: ["content-length", "transfer-encoding", "expect"], "is set according to the body")
    }
}

extension BlobUploadRequest: CustomStringConvertible, CustomReflectable {
    /// True if the server is asked whether it accepts the body, which is worth a round trip only for bodies that are
    /// much larger than the system's buffers.
    func asksFirst(byteCount: Int64?) -> Bool { self.hasExpectation && byteCount ?? .max >= 1 << 20 }

    /// Returns the lines of the head for a body.
    ///
    /// - Parameters:
    ///   - byteCount: The length of the body; nil if it is sent in chunks.
    ///   - others: Further fields, such as a tracer adds.
    func headerLines(_ info: BlobInfo, byteCount: Int64?, _ others: [BlobHTTPField]) -> [String] {
        var lines = (self.fields + others).map(\.line)
        func has(_ name: String) -> Bool { self.fields.contains { $0.name.lowercased() == name } }
        if !has("content-type") { lines.append("Content-Type: " + (info.mediaType ?? "application/octet-stream")) }
        if !has("user-agent") { lines.append("User-Agent: BlobStreams") }
        if self.method == .put, !["repr-digest", "content-digest", "content-md5"].contains(where: has),
            let digests = BlobStatedDigest.fieldValue(info.digests)
        {
            lines.append("Repr-Digest: " + digests)
        }
        if byteCount == nil { lines.append("Transfer-Encoding: chunked") }
        if !self.asksFirst(byteCount: byteCount) { lines.append("Expect:") }
        return lines
    }

    /// The method and the URL, with `***` in place of possible secrets.
    public var description: String { "\(self.method.rawValue) \(self.printableURL)" }

    /// A mirror that shows the description only, because fields and settings may be secret.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
