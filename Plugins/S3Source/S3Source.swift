public import BlobCore
package import BlobTransfer

/// An object of AWS S3, or of another store with its interface.
///
/// Reads as a source of `http` does: without blocking, by ranges that readers share, with random access. Each request
/// is signed (Signature Version 4). The ETag is a strong identity: an object that is replaced while it is read throws
/// ``BlobError/Code/changed``.
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
    /// The credentials of requests. They do not appear in descriptions.
    public struct Credentials: Sendable, CustomStringConvertible, CustomReflectable {
        enum Kind: Sendable {
            case automatic, anonymous
            case keys(AccessKeys)
        }

        let kind: Kind

        /// The keys that AWS's tools find: in the environment (`AWS_ACCESS_KEY_ID`), in the profile `AWS_PROFILE` of
        /// `~/.aws/credentials` or `~/.aws/config`, or of a container (`AWS_CONTAINER_CREDENTIALS_FULL_URI`).
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

        /// Nothing.
        public var customMirror: Mirror { Mirror(self, children: []) }
    }

    /// The settings of a store.
    public struct Options: Sendable {
        /// The URL of a store, whose objects have the bucket in their path; nil, the default, takes
        /// `AWS_ENDPOINT_URL_S3`, `AWS_ENDPOINT_URL` or that of the profile, and AWS without any.
        public var endpoint: String?

        /// The region of the bucket; nil, the default, takes `AWS_REGION`, `AWS_DEFAULT_REGION` or that of the profile,
        /// and `us-east-1` without any. If AWS tells another one, that is used.
        public var region: String?

        /// The credentials; ``Credentials/automatic`` by default.
        public var credentials = Credentials.automatic

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

        /// All settings of connections; credentials other than those above are not sent.
        package var transfers = BlobTransferSettings()

        /// Creates the default settings.
        public init() {}
    }

    /// Never blocks, except in `info`, which waits for the first answer.
    public let traits: BlobTraits = [.neverBlocks, .repeatable, .concurrentReaders, .preparable]

    /// The locator, with scheme `s3`.
    public let locator: BlobLocator?

    private let object: RemoteObject

    /// Creates a source. Reads the files of AWS's tools, and connects to nothing.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator``; ``BlobError/Code/permissionDenied`` without credentials;
    ///   ``BlobError/Code/unsupported`` for a profile with a role; ``BlobError/Code/invalidArgument`` for other faults
    ///   of the settings; ``BlobError/Code/unavailable`` without libcurl.
    public init(_ locator: String, options: Options = Options()) throws(BlobError) {
        do {
            let locator = try BlobLocator(locator)
            guard locator.scheme == "s3", locator.selectors.isEmpty else {
                throw BlobError(.invalidLocator, "This is the locator of no object of a store.", operation: "resolve")
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

    /// Returns the facts from the first answer, and waits for it the first time.
    public func describe(_ context: BlobContext) throws -> BlobInfo { try self.object.describe(context) }

    /// Opens a reader, which makes its first request when it is read.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .stream(try self.object.makeStream(opening), startingAt: opening.byteOffset)
    }

    /// Requests the ranges at once: at most 64 answers, and 16 MiB that are not read yet; the others after them.
    public func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) { self.object.prepare(ranges, context) }

    /// The provider for `s3` locators, with the default options.
    public static let provider = provider(Options())

    /// Returns a provider for `s3` locators. Its sources share the credentials, which are looked for once.
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
