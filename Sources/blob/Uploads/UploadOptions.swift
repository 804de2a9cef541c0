import ArgumentParser
import BlobHTTP
import BlobStreamsStandard
import BlobTransfer
import Foundation

/// The options of an upload request.
struct UploadOptions: ParsableArguments {
    /// The default idle limit of the connection: a server may need this time to store a large body.
    private static let defaultIdleLimit = Duration.seconds(60)

    @Option(name: [.customShort("X", allowingJoined: true), .customLong("request")], help: "PUT or POST.")
    var method: HTTPUpload.Method?

    @Option(
        name: [.customShort("H", allowingJoined: true), .customLong("header")], parsing: .unconditionalSingleValue,
        help: "A header field: 'Name: value', or 'Name;' without a value.")
    var headers: [String] = []

    @Option(help: "Send at most this many bytes per second; k, M and G stand for powers of 1024.")
    var limitRate: ByteRate?

    @Option(
        help: """
            Retry at most this many times after transient errors; a POST only if the server received none of it, or \
            refused it.
            """)
    var retry = 0

    @Option(
        help: ArgumentHelp(
            "The encoding of raw bodies: gzip, or identity (unchanged, the default).",
            discussion: """
                The header then has Content-Encoding, the body is sent in chunks, and --offset counts encoded bytes. \
                Servers may decode it or store what they received, as blob receive does.
                """))
    var contentEncoding = ContentEncoding.identity

    func validate() throws {
        guard self.retry >= 0 else { throw ValidationError("--retry cannot be negative.") }
        for header in self.headers { _ = try self.field(header) }
    }

    func makeUpload(
        _ defaultMethod: HTTPUpload.Method, _ url: String, idleTimeout: Double?
    ) throws -> HTTPUpload {
        var upload = HTTPUpload(self.method ?? defaultMethod, url)
        for field in try self.headers.map(self.field) {
            if field.name.lowercased() == "transfer-encoding", field.value.lowercased() == "chunked" {
                upload.isChunked = true
            } else {
                upload.fields.append(field)
            }
        }
        (upload.maximumRetryCount, upload.onRetry) = (self.retry, { report($0) })
        upload.rateLimit = self.limitRate?.bytesPerSecond
        upload.idleLimit = idleTimeout.map { .seconds($0) } ?? Self.defaultIdleLimit
        return upload
    }

    private func field(_ text: String) throws -> HTTPUpload.Field {
        guard let field = HTTPUpload.Field(line: text) else {
            throw ValidationError(
                text.contains(":")
                    ? "-H '\(text)': write 'Name;' for a field without a value."
                    : "-H takes 'Name: value', or 'Name;' without a value.")
        }
        return field
    }
}

extension HTTPUpload.Method: ExpressibleByArgument {
    /// The methods that people may choose.
    public init?(argument: String) {
        self.init(rawValue: argument)
        guard self == .put || self == .post else { return nil }
    }
}
