public import BlobCore

/// The method, the target and the header fields of a request, as any HTTP server can pass them on.
public struct RequestHead: Sendable {
    /// A header field. Names are compared without regard to case.
    public typealias Field = (name: String, value: String)

    /// The method in upper case.
    public let method: String

    /// The percent-encoded path, with the query if there is one; `*` for the whole server.
    public let target: String

    /// The header fields, in their order.
    public let fields: [Field]

    /// Creates the head of a request.
    ///
    /// - Parameters:
    ///   - method: The method in upper case.
    ///   - target: A path, or a URL, whose host is ignored (RFC 9112, section 3.2.2).
    ///   - fields: The header fields.
    public init(method: String, target: String, fields: [Field]) {
        var target = target
        if !target.hasPrefix("/"), let scheme = target.firstRange(of: "://") {
            target = String(target[scheme.upperBound...].drop { $0 != "/" })
        }
        (self.method, self.target, self.fields) = (method, target, fields)
    }

    /// The host in the `Host` field, in lower case and without the port; nil if the field is missing or invalid.
    var host: String? {
        guard let value = self.value(of: "host"), Self.isHost(value) else { return nil }
        let end = value.hasPrefix("[") ? value.firstIndex(of: "]").map(value.index(after:)) : value.firstIndex(of: ":")
        return value[..<(end ?? value.endIndex)].lowercased()
    }

    /// Returns true for the value of a `Host` field: a name or an address, and perhaps a port (RFC 3986, section 3.2).
    package static func isHost(_ text: String) -> Bool {
        let bytes = Array(text.utf8)
        var rest = bytes[...]
        if rest.first == UInt8(ascii: "["), let end = rest.firstIndex(of: UInt8(ascii: "]")) {
            guard rest[1..<end].allSatisfy(Self.addressCharacters.contains) else { return false }
            rest = rest[(end + 1)...]
        } else {
            rest = rest.drop(while: Self.hostCharacters.contains)
        }
        return rest.isEmpty
            || rest.first == UInt8(ascii: ":") && rest.dropFirst().allSatisfy { (0x30...0x39).contains($0) }
    }

    private static let addressCharacters = ByteSet("0123456789ABCDEFabcdef:.".utf8)
    private static let hostCharacters = ByteSet(
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~%!$&'()*+,;=".utf8)

    /// The percent-encoded path.
    public var path: Substring { self.target.prefix { $0 != "?" && $0 != "#" } }

    /// The query without its `?`; empty for a target without a query.
    var query: Substring { self.target.dropFirst(self.path.count + 1).prefix { $0 != "#" } }

    /// Returns the values of all fields with a name.
    public func values(of name: String) -> [String] {
        self.fields.filter { $0.name.lowercased() == name.lowercased() }.map(\.value)
    }

    /// Returns the value of a field, or the values of a repeated field separated by commas; nil if it is missing.
    public func value(of name: String) -> String? {
        let values = self.values(of: name)
        return values.isEmpty ? nil : values.joined(separator: ", ")
    }

    /// The stated length of the body in bytes; nil if it is missing or invalid.
    public var contentLength: Int64? { self.value(of: "content-length").flatMap(Self.byteCount) }

    /// Returns the number of bytes in a value that consists of digits, or the maximum for a larger one; nil for any
    /// other value.
    static func byteCount(_ text: some StringProtocol) -> Int64? {
        guard !text.isEmpty, text.utf8.allSatisfy({ (0x30...0x39).contains($0) }) else { return nil }
        return Int64(text) ?? .max
    }
}

/// A service that answers requests. It knows no HTTP server: an adapter passes on heads and bodies, and sends answers.
///
/// ``UploadService`` stores what it receives; ``ServedBlobs`` serves sources.
public protocol RequestService: Sendable {
    /// Returns the receiver of a request's body. May block.
    ///
    /// - Throws: The error with which to refuse the request; see `BlobError.answer`.
    func receiver(for head: RequestHead) throws(BlobError) -> any BodyReceiver
}

/// Receives the body of one request. Use it on one thread at a time.
public protocol BodyReceiver: AnyObject {
    /// The interim response to send before the body arrives; nil, the default, to send none.
    var interimAnswer: RequestAnswer? { get }

    /// Receives the next bytes of the body. May block.
    ///
    /// - Parameter bytes: Memory that is valid only during the call.
    /// - Throws: The error with which to refuse the request. Call ``abandon()`` next.
    func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError)

    /// Completes the request and returns its response. May block. Call this method only after the connection has
    /// confirmed that the body is complete.
    func answer() throws(BlobError) -> RequestAnswer

    /// Completes the request and passes on its response. The default passes on the result of ``answer()``. A receiver
    /// that waits for an event implements this method, and calls `done` once on any thread.
    func answer(_ done: @escaping @Sendable (Result<RequestAnswer, BlobError>) -> Void)

    /// Ends a request that will not be completed. A second call has no effect.
    func abandon()
}

extension BodyReceiver {
    /// Nil: no interim response.
    public var interimAnswer: RequestAnswer? { nil }

    /// Passes on the response of ``answer()``.
    public func answer(_ done: @escaping @Sendable (Result<RequestAnswer, BlobError>) -> Void) {
        done(Result { () throws(BlobError) in try self.answer() })
    }

    /// Does nothing.
    public func abandon() {}
}

/// The receiver of a request without a body, which is carried out when its end is known.
public final class AnsweredRequest: BodyReceiver {
    private let action: () throws(BlobError) -> RequestAnswer

    /// Creates the receiver of a request with a given answer.
    public convenience init(_ answer: RequestAnswer) { self.init { answer } }

    /// Creates the receiver of a request that an action carries out. A request with a body, or without its end, is not
    /// carried out.
    init(_ action: @escaping () throws(BlobError) -> RequestAnswer) { self.action = action }

    convenience init(_ status: Int, _ fields: [RequestHead.Field] = [], _ parts: [ReceivedPart] = []) {
        self.init(RequestAnswer(status: status, fields: fields, parts: parts))
    }

    /// Refuses the request: it has no body.
    public func receive(_ bytes: UnsafeRawBufferPointer) throws(BlobError) {
        throw RequestRefusal.error(400, "This request has no body.")
    }

    /// Returns the given answer, or carries out the request.
    public func answer() throws(BlobError) -> RequestAnswer { try self.action() }
}
