package import BlobCore
package import BlobTransfer
import Foundation

/// An upload request without its body.
package struct HTTPUpload: Sendable {
    package enum Method: String, Sendable {
        case put = "PUT"
        case post = "POST"
        case patch = "PATCH"
        /// A request whose source must be empty: it has no body.
        case head = "HEAD"
    }

    package typealias Field = HTTPField

    /// An `http` or `https` URL.
    package var url: String
    package var method: Method

    /// The header fields, sent unchanged. `Content-Type` replaces the media type of the source; the fields that frame
    /// the body (`Content-Length`, `Transfer-Encoding`, `Expect`) are set by the uploader, and refused here.
    package var fields: [Field]

    /// True to send the body in chunks even when its length is known; a body of unknown length always is.
    package var isChunked = false

    /// The maximum rate in bytes per second, above 0; nil for no limit.
    package var rateLimit: Int64?

    /// The longest time without activity on the connection; nil uses the idle limit of the context, that of the source.
    package var idleLimit: Duration?

    /// The settings of the connection; a shorter idle limit takes precedence over that of connecting.
    package var settings = TransferSettings()

    /// The maximum number of repetitions after transient errors, each after the pause that the server asked for, or one
    /// that doubles from a second to a minute. A POST is repeated only if the server received none of it, or refused it.
    package var maximumRetryCount = 0

    /// Called on the thread that waits with the error after which the request is repeated.
    package var onRetry: (@Sendable (BlobError) -> Void)?

    /// Called on the thread that waits with the number of bytes of the body handed over so far, and the byte count.
    package var onProgress: (@Sendable (_ sent: Int64, _ byteCount: Int64?) -> Void)?

    /// Called on the thread that waits with the body of a successful answer, piece by piece; if nil, the response
    /// keeps the beginning.
    package var onAnswer: (@Sendable (UnsafeRawBufferPointer) throws -> Void)?

    package init(_ method: Method = .put, _ url: String, fields: [Field] = []) {
        self.method = method
        self.url = url
        self.fields = fields
    }

    /// The URL without user, password and query, which may be secrets.
    package var printableURL: String {
        guard let scheme = self.url.range(of: "://") else { return "a URL" }
        let rest = self.url[scheme.upperBound...]
        let authorityEnd = rest.firstIndex { "/?#\\".contains($0) } ?? rest.endIndex
        let host = rest[..<authorityEnd].split(separator: "@", omittingEmptySubsequences: false).last ?? ""
        let path = rest[authorityEnd...].prefix { $0 != "?" && $0 != "#" }
        return "\(self.url[..<scheme.upperBound])\(host)\(path)"
    }

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
        try HTTPField.validate(
            self.fields, reserved: ["content-length", "transfer-encoding", "expect"], "follows from the body")
    }
}
