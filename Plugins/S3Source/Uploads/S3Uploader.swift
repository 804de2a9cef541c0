public import BlobCore
public import BlobTransfer

/// Stores sources as objects of AWS S3, or of another store with its interface.
///
/// ```swift
/// var uploader = try S3Uploader()
/// uploader.stateFile = "/var/tmp/film.upload"
/// let object = try await uploader.upload(source, to: "s3://films/2026/a%20b.mov")
/// ```
///
/// A short source is stored by one request, any other in parts (multipart upload). A source with random access that can
/// be read by several readers is read twice, part by part: once for the digests that are signed, and once to be sent,
/// several parts at a time. Of any other source one part at a time is kept in memory.
///
/// Each request has the SHA-256 and the MD5 of its body, which the store verifies, and is repeated after transient
/// errors. The object appears when it is whole: not before, and not if the source fails or changes. At the end its
/// entity tag is compared with that of the parts; if the tag is no MD5, its length is asked for.
///
/// An upload that fails, or is cancelled, is aborted: no part of it stays. With ``stateFile`` it is kept instead, and
/// continues the next time. If the answer to its very first request is lost, an upload without parts may stay.
public struct S3Uploader: Sendable {
    /// The default of ``partByteCount`` and ``singleByteCount``: 16 MiB.
    public static let defaultPartByteCount: Int64 = 16 << 20

    /// The lengths that a part may have, in bytes.
    package static var partByteCounts: ClosedRange<Int64> {
        let limits = PartLimits()
        return limits.minimumByteCount...limits.maximumByteCount
    }

    /// The longest part, in bytes, that is kept in memory.
    static let maximumBufferByteCount: Int64 = 512 << 20

    /// The length of a part in bytes, from 5 MiB to 5 GiB; 16 MiB by default.
    ///
    /// Grows as far as it must for a source of known length: an object has at most 10,000 parts. A source of unknown
    /// length that has more ends with ``BlobError/Code/limitExceeded``: at 16 MiB, after 156 GiB. A part that is kept
    /// in memory has at most 512 MiB.
    public var partByteCount = Self.defaultPartByteCount

    /// The maximum length in bytes of a source that is stored by one request, from 0; 16 MiB by default. A source of
    /// unknown length is if it ends within its first part.
    public var singleByteCount = Self.defaultPartByteCount

    /// The maximum number of parts of one object that are sent at once, from 1; 4 by default.
    public var maximumPartsAtOnce = 4

    /// The header fields that the object keeps, such as `Cache-Control` or `x-amz-meta-name`. `Content-Type` replaces
    /// the media type of the source.
    public var fields: [BlobHTTPField] = []

    /// The path of a file by which an upload in parts continues in another process: with the same source, object and
    /// size of parts. Nil, the default, keeps none.
    ///
    /// The source must be repeatable, with a validator; a weak one, such as size and times of a file, identifies the
    /// content in all likelihood. Of the parts that the store has, those are kept whose length and MD5 are those of the
    /// source. The state of other content is replaced, and its upload aborted. Removed at the end.
    public var stateFile: String?

    /// The maximum number of repetitions of each request after transient errors, counted afresh once the store has
    /// accepted another one; 5 by default. The pauses before them double from 1 second to 60.
    public var maximumRetryCount = 5

    /// The maximum rate in bytes per second, above 0; nil, the default, is no limit. With one, parts go one at a time.
    public var rateLimit: Int64?

    /// The rate that this upload shares with others, in place of ``rateLimit``.
    package var pace: RatePace?

    /// The longest time without activity on a connection; 60 seconds by default.
    public var idleLimit = BlobTransferSettings.defaultIdleLimit

    /// Called with each error after which a request is repeated, by any task of the upload.
    public var onRetry: (@Sendable (BlobError) -> Void)?

    /// Called as ``onRetry`` is, with the number of the attempt that follows, and of those in a row at most.
    package var onAttempt: (@Sendable (_ error: BlobError, _ number: Int, _ limit: Int) -> Void)?

    /// Called with the number of bytes that are stored or handed over, by any task of the upload; after a repetition
    /// the number is smaller.
    public var onProgress: (@Sendable (_ sent: Int64, _ byteCount: Int64?) -> Void)?

    /// An object that was stored.
    public struct StoredObject: Sendable, Equatable {
        /// The locator.
        public let locator: String
        /// The length in bytes.
        public let byteCount: Int64
        /// The entity tag, without quotes: often the MD5, or that of the MD5s of the parts with their number.
        public let entityTag: String
    }

    let store: S3Store
    var limits = PartLimits()
    var firstPause = Duration.seconds(1)

    /// Creates an uploader. Reads the files of AWS's tools, and connects to nothing.
    ///
    /// - Throws: The errors of ``S3Source/init(_:options:)`` about settings.
    public init(_ options: S3Source.Options = S3Source.Options()) throws(BlobError) {
        do {
            self.init(try S3Store(options, .process))
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    init(_ store: S3Store) { self.store = store }

    /// Stores a source, and returns when the store has the whole object.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - locator: The object, as `s3://BUCKET/KEY` with the key percent-encoded. One that is there is replaced.
    ///   - context: The context; its deadline applies to the whole upload, its idle limit to the source.
    /// - Throws: The error of the source before any other; ``BlobError/Code/permissionDenied``,
    ///   ``BlobError/Code/notFound`` and others by the answer of the store; ``BlobError/Code/checksumMismatch`` when
    ///   the store has other bytes; ``BlobError/Code/changed`` for content that changed meanwhile;
    ///   ``BlobError/Code/limitExceeded`` for too many parts, or one that is too large for memory;
    ///   ``BlobError/Code/unsupported`` for a state file with a source that cannot be read again or compared;
    ///   ``BlobError/Code/invalidLocator``, ``BlobError/Code/invalidArgument``, ``BlobError/Code/timedOut``,
    ///   ``BlobError/Code/cancelled``, and those of ``BlobUploader/upload(_:with:matching:context:)``.
    public func upload(
        _ source: any BlobInputStreamDataSource, to locator: String, context: BlobContext = BlobContext()
    ) async throws(BlobError) -> StoredObject {
        let address = try Self.address(locator)
        try self.validate()
        let context = context.makeChild()
        do {
            return try await withTaskCancellationHandler {
                try await S3UploadJob(self, source, address, context).run()
            } onCancel: {
                context.cancellation.cancel()
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    /// Returns the client of the object at an address.
    func client(of address: S3Address, _ context: BlobContext) throws(BlobError) -> S3Client {
        var limits = S3Client.Limits()
        (limits.firstPause, limits.maximumRetryCount) = (self.firstPause, self.maximumRetryCount)
        limits.idleLimit = self.idleLimit
        limits.pace = self.pace ?? self.rateLimit.map { RatePace(bytesPerSecond: $0) }
        limits.onRetry = { error, number, limit in
            self.onRetry?(error)
            self.onAttempt?(error, number, limit)
        }
        return S3Client(S3Requests(address, self.store), try BlobUploader(), limits, context)
    }

    /// - Throws: ``BlobError/Code/invalidLocator`` for the locator of no object.
    static func address(_ locator: String) throws(BlobError) -> S3Address {
        let locator = try BlobLocator(locator)
        guard locator.scheme == "s3", locator.selectors.isEmpty, case let address = try S3Address(locator),
            address.version == nil
        else {
            throw BlobError(
                .invalidLocator, "Objects are stored as s3://BUCKET/KEY, without a version.", operation: "resolve")
        }
        return address
    }

    func validate() throws(BlobError) {
        guard self.singleByteCount >= 0, self.maximumPartsAtOnce > 0, self.maximumRetryCount >= 0,
            self.rateLimit ?? 1 > 0
        else { throw BlobError(.invalidArgument, "A limit of the upload is too small.") }
        let reserved: Set = [
            "authorization", "content-length", "content-md5", "expect", "host", "transfer-encoding",
            "x-amz-content-sha256", "x-amz-date", "x-amz-security-token",
        ]
        try BlobHTTPField.validate(self.fields, reserved: reserved, "is set by the uploader")
    }
}
