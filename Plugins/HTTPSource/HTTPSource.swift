public import BlobCore
package import BlobTransfer

/// The bytes of a URL with the scheme `http` or `https`.
///
/// Never blocks: one thread runs the transfers of all sources, on connections that they share. A server that answers
/// with ranges makes a source with random access. Its first answer has length, identity and type; small reads request
/// windows, which all readers of the source share for a while, and a reader that continues requests all the rest once.
/// With any other server an offset is reached by reading up to it; an answer that cannot be used as a range, such as a
/// part with the status 200, is asked for once more without one. A length that the server does not tell is unknown;
/// with ranges, the end is then where the server refuses the next one.
///
/// Every answer must be from the object that reading began with: another strong ETag is ``BlobError/Code/changed``, and
/// so is another weak ETag, date or length. A server that tells none of these can replace an object by one of the same
/// length, or of any if it does not tell the length, without notice.
///
/// Redirections are followed, at most five, from `https` to `https` only; credentials and the fields of ``Options`` go
/// to the first origin only. As long as the source is in use, later requests begin where the redirections led; when
/// that URL is refused, as one that was signed for a time, they begin at the first one again.
///
/// The content is never asked for in an encoding, and one that a server names in `Content-Encoding` is not undone: the
/// bytes are those that the server stores, with the media type of the encoding. Ranges of it are read under a strong
/// ETag only; without one, each answer may be encoded in another way.
///
/// ```swift
/// let source = try HTTPSource("https://example.com/photo.jpg")
/// print(source.locator?.scheme ?? "")  // https
/// ```
public struct HTTPSource: BlobInputStreamDataSource {
    /// The settings of requests and connections.
    public struct Options: Sendable, CustomStringConvertible, CustomReflectable {
        /// Header fields for every request, sent to the origin of the URL only.
        public var headers: [(name: String, value: String)] = []

        /// The path of a file with the certificates of trusted authorities, in PEM; nil trusts those of the system.
        public var certificateFile: String? {
            get { self.transfers.certificateFile }
            set { self.transfers.certificateFile = newValue }
        }

        /// The URL of a proxy; nil, the default, uses the variables of the environment that curl uses, and an empty
        /// text none.
        public var proxy: String? {
            get { self.transfers.proxy }
            set { self.transfers.proxy = newValue }
        }

        /// The path of a netrc file with users and passwords by host; nil, the default, uses none.
        public var netrcFile: String? {
            get { self.transfers.netrcFile }
            set { self.transfers.netrcFile = newValue }
        }

        /// The number of bytes kept for the readers of one source together: 4 MiB by default.
        public var cacheByteCount = RemoteObject.defaultCacheByteCount

        /// All settings of connections.
        package var transfers = BlobTransferSettings()

        /// Creates the default settings.
        public init() {}

        /// The name of the type: header fields and a proxy may be secrets.
        public var description: String { "HTTPSource.Options" }

        /// Nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// Never blocks, except in `info`, which waits for the first answer.
    public let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders, .preparable]

    /// The URL.
    public let locator: BlobLocator?

    private let object: RemoteObject

    /// Creates a source for a URL. Connects to nothing.
    ///
    /// - Parameters:
    ///   - url: An absolute URL. Its user and password are sent with the `Basic` scheme.
    ///   - options: The settings of requests and connections.
    /// - Throws: ``BlobError/Code/invalidLocator`` for a URL that is not valid, ``BlobError/Code/invalidArgument`` for
    ///   a header field that is not; ``BlobError/Code/unavailable`` without libcurl.
    public init(_ url: String, options: Options = Options()) throws(BlobError) {
        try self.init(BlobLocator(url), options: options)
    }

    /// Creates a source for a locator without wrappers and selectors.
    ///
    /// - Throws: As ``init(_:options:)-(String,_)``.
    public init(_ locator: BlobLocator, options: Options = Options()) throws(BlobError) {
        self.locator = locator
        self.object = RemoteObject(
            try HTTPRequests(locator, options), cacheByteCount: max(0, options.cacheByteCount))
    }

    /// Returns the facts from the first answer, and waits for it the first time.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.object.describe(context) }

    /// Opens a reader, which makes its first request when it is read.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(try self.object.makeStream(opening), startingAt: opening.byteOffset)
    }

    /// Requests the ranges at once: at most 64 answers, and 16 MiB that are not read yet; the others after them.
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
    /// The fields that follow from how an object is read, and those that frame a message.
    private static let reservedFields: Set = [
        "accept-encoding", "connection", "content-length", "if-match", "if-modified-since", "if-none-match", "if-range",
        "if-unmodified-since", "range", "te", "transfer-encoding", "upgrade",
    ]

    /// The digests that a server is asked for, should it compute some (RFC 9530, section 4).
    private static let wantedDigests = BlobHTTPField("Want-Repr-Digest", "sha-256=2, sha-512=1")

    let scheme: String
    private let request: TransferRequest
    private let name: String?

    /// - Throws: ``BlobError/Code/invalidLocator``, ``BlobError/Code/invalidArgument``, ``BlobError/Code/unavailable``.
    init(_ locator: BlobLocator, _ options: HTTPSource.Options) throws(BlobError) {
        var request = TransferRequest(try TransferURL("\(locator.scheme):\(locator.schemeSpecificPart)"))
        request.privateFields = options.headers.map { BlobHTTPField($0.name, $0.value) }
        try BlobHTTPField.validate(
            request.privateFields, reserved: Self.reservedFields, "follows from how the object is read")
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

    /// Returns the last component of a name, which is never a path; nil when it is no name.
    private static func name(_ bytes: [UInt8]) -> String? {
        let name = bytes.split(omittingEmptySubsequences: false) { "/\\".utf8.contains($0) }.last ?? []
        guard !name.isEmpty, !name.contains(0), let text = String(validating: name, as: UTF8.self) else { return nil }
        return [".", ".."].contains(text) ? nil : text
    }
}
