import BlobCore
public import BlobPlatform

/// The answer of a server.
public struct BlobUploadResponse: Sendable {
    /// The maximum number of bytes of the body that are kept, enough for an error message.
    public static let maximumBodyByteCount = 64 * 1024

    /// The URL that was answered, after redirections; without user and password. Its query may be a secret.
    public let url: String
    package let head: ResponseHead

    /// The beginning of the body, at most ``maximumBodyByteCount`` bytes; empty if ``BlobUploadRequest/onAnswer``
    /// received it.
    public let body: Data

    /// The status, from 200; informational ones are not kept.
    public var status: Int { self.head.status }

    /// The reason phrase after the status, as it was received; often empty.
    public var reason: String { self.head.reason }

    /// The header fields, in their order. Each access makes them from the bytes that were received.
    public var fields: [BlobHTTPField] { self.head.fields.map { BlobHTTPField($0.name, $0.value) } }

    /// Returns the first value of a field, whose name is compared without regard to case.
    public func value(of name: String) -> String? { self.head.value(of: name.lowercased()) }
}

extension BlobUploadResponse: CustomStringConvertible, CustomReflectable {
    /// The status and the URL, with `***` for what may be secret in it. Nothing that the server sent is in it, such as
    /// cookies.
    public var description: String { "The server answered \(self.status) to a request for \(printableURL(self.url))." }

    /// The description alone.
    public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }
}

/// The cause of ``BlobError/Code/refused``, with the answer of the server.
public struct BlobUploadRefusal: Error, CustomStringConvertible {
    /// The answer, whose status is not from 200 to 299.
    public let response: BlobUploadResponse

    /// The description of the answer, which has no secrets.
    public var description: String { self.response.description }
}
