public import BlobCore

/// A request without its body.
public struct BlobUploadRequest: Sendable {
    /// The method of a request.
    public enum Method: String, Sendable {
        case put = "PUT"
        case post = "POST"
        case patch = "PATCH"
        /// A request whose source must be empty: it has no body.
        case head = "HEAD"
    }

    /// An `http` or `https` URL.
    public var url: String

    /// The method; ``Method/put`` by default.
    public var method: Method

    /// The header fields, sent unchanged. `Content-Type` replaces the media type of the source; the fields that frame
    /// the body (`Content-Length`, `Transfer-Encoding`, `Expect`) are set by the uploader, and refused here.
    public var fields: [BlobHTTPField]

    /// The way to find the media type of a body in its first bytes; without effect when a field or the source tells it.
    package var mediaTypeDetection: MediaTypeDetection?

    /// The method in place of ``Method/head``, such as `DELETE`; nil for that one.
    package var otherMethod: String?

    /// True to send the body in chunks even when its length is known; a body of unknown length always is.
    public var isChunked = false

    /// The maximum rate in bytes per second, above 0; nil for no limit.
    public var rateLimit: Int64?

    /// The rate that this request shares with others, in place of ``rateLimit``.
    package var allowance: ByteAllowance?

    /// The longest time without activity on the connection; nil uses the idle limit of the context, that of the source.
    public var idleLimit: Duration?

    /// The settings of the connection; a shorter idle limit takes precedence over that of connecting.
    public var settings = BlobTransferSettings()

    /// The rules by which the request is repeated after transient errors; by default it is not. ``BlobRetry/identity``
    /// has no effect.
    ///
    /// A POST is repeated only if the server received none of it, or refused it.
    public var retry = BlobRetry(maximumRetryCount: 0)

    /// The maximum number of repetitions by ``retry``; 0 by default.
    public var maximumRetryCount: Int {
        get { self.retry.maximumRetryCount }
        set { self.retry.maximumRetryCount = newValue }
    }

    /// True when the request has no further effect if it is made twice; nil if only a PUT has none.
    package var isRepeatable: Bool?

    /// The maximum number of redirections that are followed: those of 307 and 308 to the same origin, with a source
    /// that is repeatable.
    public var maximumRedirectionCount = 0

    /// Called by the task or thread of the upload with the error after which the request is repeated.
    public var onRetry: (@Sendable (BlobError) -> Void)?

    /// Called as ``onRetry`` is.
    package var onAttempt: (@Sendable (RetryFailures.Attempt) -> Void)?

    /// Called by the task or thread of the upload with the number of bytes of the body handed over so far, and the byte
    /// count: at most about fifty times a second, and with the last number of each attempt.
    public var onProgress: (@Sendable (_ sent: Int64, _ byteCount: Int64?) -> Void)?

    /// Called by the task or thread of the upload with the body of a successful answer, piece by piece; if nil, the
    /// response keeps the beginning.
    public var onAnswer: (@Sendable (UnsafeRawBufferPointer) throws -> Void)?

    /// Creates a request.
    ///
    /// - Parameters:
    ///   - method: The method; a POST is never made twice unless that can have no effect.
    ///   - url: An `http` or `https` URL; its user and password are sent by Basic authentication.
    ///   - fields: The header fields.
    public init(_ method: Method = .put, _ url: String, fields: [BlobHTTPField] = []) {
        self.method = method
        self.url = url
        self.fields = fields
    }

    /// Returns this request for the URL to which an answer redirects; nil when it must not be sent there.
    ///
    /// Only 307 and 308 keep the method and the body (RFC 9110, sections 15.4.8 and 15.4.9), and only the same origin
    /// gets the fields and credentials.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` for a URL of this request that is not valid.
    func redirected(by response: BlobUploadResponse) throws(BlobError) -> BlobUploadRequest? {
        guard response.status == 307 || response.status == 308, let location = response.head.location else {
            return nil
        }
        let url = try TransferURL(self.url)
        guard let target = try? url.resolving(location), target.origin == url.origin else { return nil }
        var upload = self
        upload.url = target.text
        // A URL of a server has no credentials that count.
        upload.settings.credentials = self.settings.credentials ?? url.credentials
        return upload
    }
}

extension BlobUploadRequest {
    /// A function of the first bytes of a body.
    package struct MediaTypeDetection: Sendable {
        let byteCount: Int
        let mediaType: @Sendable (UnsafeRawBufferPointer) -> String?

        /// - Parameters:
        ///   - byteCount: The number of bytes that tell enough, from 1 to 2048; there are fewer in a shorter body.
        ///   - mediaType: Returns the media type; nil if the bytes tell none.
        package init(byteCount: Int, _ mediaType: @escaping @Sendable (UnsafeRawBufferPointer) -> String?) {
            precondition((1...2048).contains(byteCount), "A detection needs from 1 to 2048 bytes.")
            (self.byteCount, self.mediaType) = (byteCount, mediaType)
        }
    }

    /// The detection of the media type, unless a field tells it.
    var neededMediaTypeDetection: MediaTypeDetection? {
        self.fields.contains { $0.name.lowercased() == "content-type" } ? nil : self.mediaTypeDetection
    }

    /// The rate of this request, which others may share.
    var ownAllowance: ByteAllowance? { self.allowance ?? self.rateLimit.map { ByteAllowance(bytesPerSecond: $0) } }

    /// The URL in the form in which it is printed.
    package var printableURL: String { BlobCore.printableURL(self.url) }

    /// - Throws: ``BlobError/Code/invalidArgument``.
    package func validate() throws(BlobError) {
        let lowercased = self.url.lowercased()
        guard lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") else {
            throw BlobError(.invalidArgument, "Uploads go to http:// and https:// only, not to \(self.printableURL).")
        }
        guard self.url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw BlobError(.invalidArgument, "The URL \(self.printableURL) has a space or a control character in it.")
        }
        guard self.rateLimit ?? 1 > 0 else { throw BlobError(.invalidArgument, "A rate limit must be above 0.") }
        try BlobHTTPField.validate(
            self.fields, reserved: ["content-length", "transfer-encoding", "expect"], "follows from the body")
    }
}

extension BlobUploadRequest: CustomStringConvertible, CustomReflectable {
    /// The method and the URL, with `***` for what may be secret in it.
    public var description: String { "\(self.method.rawValue) \(self.printableURL)" }

    /// The description alone: fields and settings may be secrets.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}
