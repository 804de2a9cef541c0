public import BlobCore
package import BlobTransfer

/// An object in AWS S3 or another store with the S3 interface.
///
/// Reads like an `http` source: without blocking, with random access, and by ranges that readers share. Each request is
/// signed (Signature Version 4). The ETag is a strong identity: reading an object that is replaced in the meantime
/// throws ``BlobError/Code/changed``.
///
/// A locator has the form `s3://BUCKET/KEY` with a percent-encoded key: a space is `%20`, `#` is `%23` and `?` is
/// `%3F`. `?versionId=VERSION` names a version.
///
/// ```swift
/// var options = S3Source.Options()
/// options.endpoint = "http://127.0.0.1:9000"
/// let source = try S3Source("s3://photos/2026/a%20b.jpg", options: options)
/// ```
public struct S3Source: BlobInputStreamDataSource {
    /// The credentials for requests. Their description does not include them.
    public struct Credentials: Sendable, CustomStringConvertible, CustomReflectable {
        enum Kind: Sendable {
            case automatic, anonymous
            case keys(AccessKeys)
        }

        let kind: Kind

        /// The keys found in the places that the AWS tools search: the environment (`AWS_ACCESS_KEY_ID`), the profile
        /// `AWS_PROFILE` in `~/.aws/credentials` or `~/.aws/config`, or a container
        /// (`AWS_CONTAINER_CREDENTIALS_FULL_URI`).
        public static let automatic = Self(kind: .automatic)

        /// No keys, for public objects. Requests are not signed.
        public static let anonymous = Self(kind: .anonymous)

        /// Returns credentials with the given keys.
        ///
        /// - Parameters:
        ///   - identifier: The identifier of the access key.
        ///   - secret: The secret of the access key.
        ///   - sessionToken: The token of temporary credentials.
        public static func keys(identifier: String, secret: String, sessionToken: String? = nil) -> Self {
            Self(kind: .keys(AccessKeys(identifier: identifier, secret: secret, sessionToken: sessionToken)))
        }

        /// The name of the type.
        public var description: String { "S3Source.Credentials" }

        /// An empty mirror.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The settings for a store.
    public struct Options: Sendable {
        /// The URL of a store, with the bucket in the path of each object.
        ///
        /// If the value is nil, the default, the source uses `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the profile's
        /// endpoint, and AWS if none is set.
        public var endpoint: String?

        /// The region of the bucket.
        ///
        /// If the value is nil, the default, the source uses `AWS_REGION`, `AWS_DEFAULT_REGION` or the profile's
        /// region, and `us-east-1` if none is set. If AWS reports another region, the source uses that one.
        public var region: String?

        /// The credentials. The default is ``Credentials/automatic``.
        public var credentials = Credentials.automatic

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

        /// All settings of the connections. Their credentials are not sent; only ``credentials`` are used.
        package var transfers = BlobTransferSettings()

        /// Creates options with the default settings.
        public init() {}
    }

    /// The source never blocks, except in `info`, which waits for the first response.
    public let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders, .preparable]

    /// The locator, with the scheme `s3`.
    public let locator: BlobLocator?

    private let object: RemoteObject

    /// Creates a source. Reads the configuration files of the AWS tools, but does not connect.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``; ``BlobError/Code/permissionDenied`` if there are no credentials;
    ///   ``BlobError/Code/unsupported`` for a profile with a role; ``BlobError/Code/invalidArgument`` for other invalid
    ///   settings; ``BlobError/Code/unavailable`` if libcurl or the trait `Crypto` is missing.
    public init(_ locator: String, options: Options = Options()) throws(BlobError) {
        do {
            let locator = try BlobLocator(locator)
            guard locator.scheme == "s3", locator.selectors.isEmpty else {
                throw BlobError(
                    .invalidLocator, "The locator must name an object in an S3 store.", operation: "resolve")
            }
            try self.init(locator, S3Address(locator), S3Service(options, .process))
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    init(_ locator: BlobLocator, _ address: S3Address, _ service: S3Service) {
        self.locator = locator
        self.object = RemoteObject(S3Requests(address, service))
    }

    /// Returns the facts from the first response. The first call waits for this response.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.object.describe(context) }

    /// Opens a reader. Its first read makes the first request.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(try self.object.makeStream(opening), startingAt: opening.byteOffset)
    }

    /// Requests ranges ahead, with at most 64 responses and 16 MiB of unread bytes at once; the rest follow later.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) { self.object.prepare(ranges, context) }

    /// The provider for `s3` locators, with the default options.
    public static let provider = provider(Options())

    /// Returns a provider for `s3` locators. Its sources share the credentials, which are looked up once.
    public static func provider(_ options: Options) -> BlobProvider {
        self.provider { try S3Service(options, .process) }
    }

    static func provider(_ makeService: @escaping @Sendable () throws -> S3Service) -> BlobProvider {
        let service = Locked<S3Service?>(nil)
        return BlobProvider(
            .origin { locator, _ in
                let address = try S3Address(locator)
                let service = try service.withLock { known in
                    let service = try known ?? makeService()
                    known = service
                    return service
                }
                return S3Source(locator, address, service)
            }, schemes: ["s3"], reachesNetwork: true)
    }
}
