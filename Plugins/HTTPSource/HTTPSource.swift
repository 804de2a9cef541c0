public import BlobCore
package import BlobTransfer

/// The bytes at an `http` or `https` URL.
///
/// The source never blocks: one thread runs the transfers of all sources on shared connections. A server that supports
/// range requests provides random access. The first response supplies the length, the identity and the media type.
/// Small reads fetch windows, which all readers of the source share for a while; a reader that continues fetches the
/// rest in one request. With any other server, an offset is reached by reading up to it. If a response to a range
/// request is unusable, such as part of the content with status 200, the request is repeated once without a range. The
/// length is unknown if the server does not state it; with ranges, the content then ends where the server refuses a
/// range.
///
/// All responses must come from the object with which reading began. A different strong ETag throws
/// ``BlobError/Code/changed``, and so does a different weak ETag, date or length. If a server states no ETag and no
/// date, a replacement of the same length goes unnoticed. If it does not state lengths either, any replacement goes
/// unnoticed.
///
/// At most five redirections are followed, only from `https` to `https`. Credentials and the fields of ``Options`` are
/// sent only to the first origin. While the source is in use, later requests start at the redirected URL. If that URL
/// is refused, for example because its signature has expired, they start at the first URL again.
///
/// Requests never ask for a content encoding, and an encoding that the server names in `Content-Encoding` is not
/// decoded: the bytes are as the server stores them, with the media type of the encoding. Ranges of encoded content are
/// read only under a strong ETag, because each response may otherwise be encoded differently.
///
/// ```swift
/// let source = try HTTPSource("https://example.com/photo.jpg")
/// print(source.locator?.scheme ?? "")  // https
/// ```
public struct HTTPSource: BlobInputStreamDataSource {
    /// The settings for requests and connections.
    public struct Options: Sendable, CustomStringConvertible, CustomReflectable {
        /// The header fields for every request, sent only to the origin of the URL.
        public var headers: [(name: String, value: String)] = []

        /// The path of a PEM file with the certificates of trusted authorities; nil to trust the system's authorities.
        public var certificateFile: String? {
            get { self.transfers.certificateFile }
            set { self.transfers.certificateFile = newValue }
        }

        /// The URL of a proxy. The default, nil, uses curl's environment variables; an empty string disables proxies.
        public var proxy: String? {
            get { self.transfers.proxy }
            set { self.transfers.proxy = newValue }
        }

        /// The path of a netrc file with users and passwords for hosts. The default, nil, uses no file.
        public var netrcFile: String? {
            get { self.transfers.netrcFile }
            set { self.transfers.netrcFile = newValue }
        }

        /// The number of bytes to cache for all readers of one source together. The default is 4 MiB.
        public var cacheByteCount = RemoteObject.defaultCacheByteCount

        /// All settings of the connections.
        package var transfers = BlobTransferSettings()

        /// Creates options with the default settings.
        public init() {}

        /// The name of the type only, because header fields and a proxy URL may be secret.
        public var description: String { "HTTPSource.Options" }

        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The source never blocks, except in `info`, which waits for the first response.
    public let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders, .preparable]

    /// The URL.
    public let locator: BlobLocator?

    private let object: RemoteObject

    /// Creates a source for a URL. Does not connect.
    ///
    /// - Parameters:
    ///   - url: An absolute URL. Its user and password are sent with the `Basic` scheme.
    ///   - options: The settings for requests and connections.
    /// - Throws: ``BlobError/Code/invalidLocator`` for an invalid URL; ``BlobError/Code/invalidArgument`` for an
    ///   invalid header field; ``BlobError/Code/unavailable`` if libcurl is missing.
    public init(_ url: String, options: Options = Options()) throws(BlobError) {
        try self.init(BlobLocator(url), options: options)
    }

    /// Creates a source for a locator without wrappers or selectors.
    ///
    /// - Throws: The errors of ``init(_:options:)-(String,_)``.
    public init(_ locator: BlobLocator, options: Options = Options()) throws(BlobError) {
        self.locator = locator
        self.object = RemoteObject(
            try HTTPRequests(locator, options), cacheByteCount: max(0, options.cacheByteCount))
    }

    /// Returns the facts from the first response. The first call waits for this response.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.object.describe(context) }

    /// Opens a reader. Its first read makes the first request.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(try self.object.makeStream(opening), startingAt: opening.byteOffset)
    }

    /// Requests ranges ahead, with at most 64 responses and 16 MiB of unread bytes at once; the rest follow later.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) { self.object.prepare(ranges, context) }

    /// The provider for `http` and `https` locators, with the default options.
    public static let provider = provider(Options())

    /// Returns a provider for `http` and `https` locators.
    public static func provider(_ options: Options) -> BlobProvider {
        BlobProvider(
            .origin { locator, _ in try HTTPSource(locator, options: options) }, schemes: ["http", "https"],
            reachesNetwork: true)
    }
}

/// The requests for a URL.
struct HTTPRequests: RemoteRequests {
    /// The fields that depend on how an object is read, and the fields that frame a message.
    private static let reservedFields: Set = [
        "accept-encoding", "connection", "content-length", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "range", "te", "transfer-encoding", "upgrade",
    ]

    /// The digests to request from a server that can compute them (RFC 9530, section 4).
    private static let wantedDigests = BlobHTTPField("Want-Repr-Digest", "sha-256=2, sha-512=1")

    let scheme: String
    private let request: TransferRequest
    private let name: String?

    /// - Throws: The errors of ``HTTPSource/init(_:options:)-(String,_)``.
    init(_ locator: BlobLocator, _ options: HTTPSource.Options) throws(BlobError) {
        var request = TransferRequest(try TransferURL("\(locator.scheme):\(locator.schemeSpecificPart)"))
        request.privateFields = options.headers.map { BlobHTTPField($0.name, $0.value) }
        try BlobHTTPField.validate(
            request.privateFields, reserved: Self.reservedFields,
            "cannot be set, because it depends on how the object is read")
        request.settings = options.transfers
        (self.request, self.scheme) = (request, locator.scheme)
        let last = request.url.path.split(separator: "/", omittingEmptySubsequences: false).last ?? ""
        self.name = PercentEncoding.decode(last.utf8).flatMap(Self.name)
    }

    func makeRequest(
        _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void
    ) {
        var request = self.request
        let isWanted = request.privateFields.contains { $0.name.lowercased() == Self.wantedDigests.name.lowercased() }
        request.fields = fields + (isWanted ? [] : [Self.wantedDigests])
        completion(.success(request))
    }

    func name(_ head: ResponseHead) -> String? {
        let disposition = head.value(of: "content-disposition").map { ParameterizedValue(lenient: $0.utf8) }
        return (try? disposition?.filename()).flatMap(Self.name) ?? self.name
    }

    /// Returns the last component of a name, so that the result is never a path; nil if the component is not a valid
    /// name.
    private static func name(_ bytes: [UInt8]) -> String? {
        let name = bytes.split(omittingEmptySubsequences: false) { "/\\".utf8.contains($0) }.last ?? []
        guard !name.isEmpty, !name.contains(0), let text = String(validating: name, as: UTF8.self) else { return nil }
        return [".", ".."].contains(text) ? nil : text
    }
}
