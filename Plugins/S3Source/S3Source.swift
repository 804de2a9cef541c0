public import BlobCore
package import BlobTransfer

/// An object of AWS S3, or of another store with its interface.
///
/// Reads as an `http` source does: without blocking, with random access, and by ranges that readers share. Each request
/// is signed (Signature Version 4). The ETag is a strong identity: reading an object that is replaced in the meantime
/// throws ``BlobError/Code/changed``.
///
/// A locator is `s3://BUCKET/KEY`, with the key percent-encoded: a space is `%20`, `#` is `%23` and `?` is `%3F`;
/// `?versionId=VERSION` names a version.
///
/// ```swift
/// var options = S3Source.Options()
/// options.endpoint = "http://127.0.0.1:9000"
/// let source = try S3Source("s3://photos/2026/a%20b.jpg", options: options)
/// ```
public struct S3Source: BlobInputStreamDataSource {
    /// The credentials for requests. Descriptions do not include them.
    public struct Credentials: Sendable, CustomStringConvertible, CustomReflectable {
        enum Kind: Sendable {
            case automatic, anonymous
            case keys(AccessKeys)
        }

        let kind: Kind

        /// The keys that the AWS tools find: in the environment (`AWS_ACCESS_KEY_ID`), in the profile `AWS_PROFILE` of
        /// `~/.aws/credentials` or `~/.aws/config`, or from a container (`AWS_CONTAINER_CREDENTIALS_FULL_URI`).
        public static let automatic = Self(kind: .automatic)

        /// No keys, for public objects: requests are not signed.
        public static let anonymous = Self(kind: .anonymous)

        /// The given keys.
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

    /// The settings of a store.
    public struct Options: Sendable {
        /// The URL of a store, with the bucket in the path of each object. Nil, the default, uses
        /// `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or the endpoint of the profile, and AWS if none is set.
        public var endpoint: String?

        /// The region of the bucket. Nil, the default, uses `AWS_REGION`, `AWS_DEFAULT_REGION` or the region of the
        /// profile, and `us-east-1` if none is set. If AWS reports another region, the source uses that one.
        public var region: String?

        /// The credentials; ``Credentials/automatic`` by default.
        public var credentials = Credentials.automatic

        /// The path of a PEM file with the certificates of trusted authorities; nil trusts the system's authorities.
        public var certificateFile: String? {
            get { self.transfers.certificateFile }
            set { self.transfers.certificateFile = newValue }
        }

        /// The URL of a proxy. Nil, the default, uses curl's environment variables; an empty string disables proxies.
        public var proxy: String? {
            get { self.transfers.proxy }
            set { self.transfers.proxy = newValue }
        }

        /// All settings of connections; only the credentials above are sent.
        package var transfers = BlobTransferSettings()

        /// Creates the default settings.
        public init() {}
    }

    /// Never blocks, except in `info`, which waits for the first response.
    public let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders, .preparable]

    /// The locator, with the scheme `s3`.
    public let locator: BlobLocator?

    private let object: RemoteObject

    /// Creates a source. Reads the configuration files of the AWS tools; does not connect.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``; ``BlobError/Code/permissionDenied`` without credentials;
    ///   ``BlobError/Code/unsupported`` for a profile with a role; ``BlobError/Code/invalidArgument`` for other invalid
    ///   settings; ``BlobError/Code/unavailable`` without libcurl.
    public init(_ locator: String, options: Options = Options()) throws(BlobError) {
        do {
            let locator = try BlobLocator(locator)
            guard locator.scheme == "s3", locator.selectors.isEmpty else {
                throw BlobError(
                    .invalidLocator, "The locator must name an object in an S3 store.", operation: "resolve")
            }
            try self.init(locator, S3Address(locator), S3Store(options, .process))
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    init(_ locator: BlobLocator, _ address: S3Address, _ store: S3Store) {
        self.locator = locator
        self.object = RemoteObject(S3Requests(address, store))
    }

    /// Returns the facts from the first response. The first call waits for it.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.object.describe(context) }

    /// Opens a reader. The first read makes the first request.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(try self.object.makeStream(opening), startingAt: opening.byteOffset)
    }

    /// Requests the ranges ahead, with at most 64 responses and 16 MiB of unread bytes at once; the others follow.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) { self.object.prepare(ranges, context) }

    /// The provider for `s3` locators, with the default options.
    public static let provider = provider(Options())

    /// Returns a provider for `s3` locators. Its sources share the credentials, which are looked up once.
    public static func provider(_ options: Options) -> BlobProvider {
        self.provider { try S3Store(options, .process) }
    }

    static func provider(_ makeStore: @escaping @Sendable () throws -> S3Store) -> BlobProvider {
        let store = Locked<S3Store?>(nil)
        return BlobProvider(
            .origin { locator, _ in
                let address = try S3Address(locator)
                let store = try store.withLock { known in
                    let store = try known ?? makeStore()
                    known = store
                    return store
                }
                return S3Source(locator, address, store)
            }, schemes: ["s3"], reachesNetwork: true)
    }
}
