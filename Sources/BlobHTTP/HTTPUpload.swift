import BlobStreams
import Foundation

/// What is to be asked of a server, but for the body.
package struct HTTPUpload: Sendable {
    package enum Method: String, Sendable {
        case put = "PUT"
        case post = "POST"
    }

    /// A line of the header.
    package struct Field: Sendable, Equatable {
        package let name: String
        package let value: String

        package init(_ name: String, _ value: String) {
            self.name = name
            self.value = value
        }
    }

    /// `http` or `https`.
    package var url: String
    package var method: Method

    /// Sent as they are. `Content-Type` replaces what the source says of itself; what frames the body
    /// (`Content-Length`, `Transfer-Encoding`, `Expect`) is decided here and refused.
    package var fields: [Field]

    /// Sends the body in chunks also when its length is known; what has no known length goes so anyway.
    package var isChunked = false

    /// Bytes a second, above 0; nil is no limit.
    package var rateLimit: Int64?

    /// How long nothing may move on the connection; nil takes the idle limit of the context, which is the source's.
    package var idleLimit: Duration?

    /// How long connecting may take, TLS included; the idle limit comes first when it is shorter.
    package var connectLimit = Duration.seconds(30)

    /// Told how many bytes of the body went to the connection, of how many, on the thread of the upload.
    package var onProgress: (@Sendable (_ sent: Int64, _ byteCount: Int64?) -> Void)?

    /// Gets the body of a successful answer, as it comes, on the thread of the upload; without it the answer keeps the
    /// beginning.
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
    func validate() throws(BlobError) {
        let lowercased = self.url.lowercased()
        guard lowercased.hasPrefix("http://") || lowercased.hasPrefix("https://") else {
            throw BlobError(.invalidArgument, "Uploads go to http:// and https:// only, not to \(self.printableURL).")
        }
        guard self.url.utf8.allSatisfy({ $0 > 0x20 && $0 != 0x7F }) else {
            throw BlobError(.invalidArgument, "The URL \(self.printableURL) has a space or a control character in it.")
        }
        guard self.rateLimit ?? 1 > 0 else { throw BlobError(.invalidArgument, "A rate limit must be above 0.") }
        for field in self.fields {
            guard !field.name.isEmpty, field.name.utf8.allSatisfy(Self.tokenCharacters.contains) else {
                throw BlobError(.invalidArgument, "'\(field.name)' is no name for a header field.")
            }
            guard field.value.utf8.allSatisfy({ $0 >= 0x20 && $0 != 0x7F || $0 == 0x09 }) else {
                throw BlobError(.invalidArgument, "The header field \(field.name) has a control character in it.")
            }
            guard !["content-length", "transfer-encoding", "expect"].contains(field.name.lowercased()) else {
                throw BlobError(.invalidArgument, "The header field \(field.name) follows from the body.")
            }
        }
    }

    /// `token` of RFC 9110, section 5.6.2.
    private static let tokenCharacters = Set(
        "!#$%&'*+-.^_`|~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)
}
