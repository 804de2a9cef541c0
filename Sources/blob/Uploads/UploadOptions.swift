#if Command
import ArgumentParser
import BlobStreamsStandard
import BlobTransfer

/// The options for an upload request.
struct UploadOptions: ParsableArguments {
    @Option(
        name: [.customShort("X", allowingJoined: true), .customLong("request")],
        help: .advanced("The method, PUT or POST."))
    var method: UploadMethod?

    @Option(
        help: .advanced(
            "Send at most this many bytes per second in total.",
            discussion: "k, M and G are powers of 1024.", valueName: "rate"))
    var limitRate: ByteRate?

    @Option(
        help: .advanced(
            "Retry after temporary errors, this many times.",
            discussion: """
                The default is 0, or 5 for s3://; see also --resumable. A POST is retried only if the server \
                received none of it, or refused it.
                """, valueName: "count"))
    var retry: Int?

    @Option(help: Seconds.retryHelp)
    var retryMaxTime = Seconds.defaultRetryTime

    @Flag(
        name: [.customShort("L"), .customLong("location")],
        help: .advanced(
            """
            Follow up to \(TimedUpload.maximumRedirectionCount) redirects (307 and 308) within the same origin, if the \
            source can be read again.
            """))
    var followsRedirections = false

    @Option(
        help: .advanced(
            "Stop the whole command after this time; --idle-timeout limits each stall.", valueName: "seconds"))
    var maxTime: Double?

    @Option(
        help: .advanced(
            "Encode raw bodies: gzip, or identity (unchanged, the default).",
            discussion: """
                With gzip, the request has a Content-Encoding header field, the body is sent in chunks, and --offset \
                counts encoded bytes. A server may decode the body, or store it as received, as 'blob receive' does.
                """))
    var contentEncoding = ContentEncoding.identity

    func validate() throws {
        guard self.retry ?? 0 >= 0 else { throw ValidationError("--retry cannot be negative.") }
        try Seconds.validate(self.retryMaxTime, "--retry-max-time")
        try Seconds.validate(self.maxTime, "--max-time")
    }

    /// Returns the request for a URL, without its body.
    func makeUpload(
        _ defaultMethod: BlobUploadRequest.Method, _ url: String, _ source: SourceOptions, _ context: BlobContext
    ) throws -> BlobUploadRequest {
        var upload = try BlobUploadRequest(self.method?.requestMethod ?? defaultMethod, url, source, context)
        upload.allowance = self.limitRate.map { ByteAllowance(bytesPerSecond: $0.bytesPerSecond) }
        self.setRetry(&upload.retry)
        return upload
    }

    /// Applies the options for retries.
    func setRetry(_ rules: inout BlobRetry) {
        if let retry { rules.maximumRetryCount = retry }
        rules.maximumWait = .seconds(self.retryMaxTime)
    }

    /// Returns the context with a deadline ``maxTime`` from now.
    func limited(_ context: BlobContext) -> BlobContext {
        var context = context
        if let maxTime { context.deadline = .now + .seconds(maxTime) }
        return context
    }
}

extension BlobUploadRequest {
    /// The default idle limit of the connection. A server may need this long to store a large body.
    private static let defaultIdleLimit = Duration.seconds(60)

    /// Creates a request with the header fields and connection settings from the options.
    init(_ method: Method, _ url: String, _ source: SourceOptions, _ context: BlobContext) throws {
        self.init(method, url)
        for field in try source.web.fields(context) {
            if field.name.lowercased() == "transfer-encoding", field.value.lowercased() == "chunked" {
                self.isChunked = true
            } else {
                self.fields.append(field)
            }
        }
        self.settings = try source.connection.checkedSettings(context)
        self.settings.credentials = source.web.credentials
        self.idleLimit = source.idleLimit ?? Self.defaultIdleLimit
    }
}

/// The methods that users may choose.
enum UploadMethod: String, ExpressibleByArgument {
    case put = "PUT"
    case post = "POST"

    var requestMethod: BlobUploadRequest.Method { self == .put ? .put : .post }
}

/// The content encoding of a body (RFC 9110, section 8.4).
enum ContentEncoding: String, ExpressibleByArgument, CaseIterable {
    case identity, gzip

    /// Returns `source` in this encoding, and adds to `upload` the header fields that declare the encoding.
    func encode(
        _ source: any BlobInputStreamDataSource, _ upload: inout BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> any BlobInputStreamDataSource {
        guard self == .gzip else { return source }
        upload.fields.append(BlobHTTPField("Content-Encoding", self.rawValue))
        // The media type describes the bytes before encoding.
        if !upload.fields.contains(where: { $0.name.lowercased() == "content-type" }) {
            let type = try source.info(context).mediaType ?? "application/octet-stream"
            upload.fields.append(BlobHTTPField("Content-Type", type))
        }
        return GzipEncodedSource(source)
    }
}
#endif
