import BlobCore
public import BlobPlatform

/// The response of a server to an upload.
public struct BlobUploadResponse: Sendable {
    /// The maximum number of body bytes that a response contains, enough for an error message.
    public static let maximumBodyByteCount = 64 * 1024

    /// The URL that sent the response, after redirections, without user and password. Its query may be a secret.
    public let url: String
    package let head: ResponseHead

    /// The beginning of the body, up to ``maximumBodyByteCount`` bytes; empty if ``BlobUploadRequest/onResponseBody``
    /// received the body.
    public let body: Data

    /// The status, at least 200. Informational responses are ignored.
    public var status: Int { self.head.status }

    /// The reason phrase after the status, as received. It is often empty.
    public var reason: String { self.head.reason }

    /// The header fields, in order. Each access creates them from the received bytes.
    public var fields: [BlobHTTPField] { self.head.fields.map { BlobHTTPField($0.name, $0.value) } }

    /// Returns the first value of a field. The name is compared case-insensitively.
    public func value(of name: String) -> String? { self.head.value(of: name.lowercased()) }
}

extension BlobUploadResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the URL, with `***` in place of possible secrets. The description omits everything that the
    /// server sent, such as cookies.
    public var description: String { "The server answered \(self.status) to a request for \(printableURL(self.url))." }

    /// A mirror that shows the description only.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}

/// The cause of ``BlobError/Code/refused``, which contains the server's response.
public struct BlobUploadRefusal: Error, CustomStringConvertible {
    /// The response, whose status is not between 200 and 299.
    public let response: BlobUploadResponse

    /// The description of the response, without secrets.
    public var description: String { self.response.description }
}
