public import BlobCore
public import BlobTransfer

/// Stores sources as objects in AWS S3 or another store with the S3 interface.
///
/// ```swift
/// var uploader = try S3Uploader()
/// uploader.stateFile = "/var/tmp/film.upload"
/// let object = try await uploader.upload(source, to: "s3://films/2026/a%20b.mov")
/// ```
///
/// A short source is stored with one request, and a longer one in parts (multipart upload). A source that has random
/// access and supports several readers is read twice, part by part: once for the digests to sign, and once for sending
/// several parts at a time. Any other source is kept in memory one part at a time.
///
/// Each request includes the SHA-256, the MD5 and the CRC-64/NVME of its body, which the store verifies, and is
/// repeated after transient errors. If a store refuses the CRC-64/NVME, later requests omit it. The object appears only
/// once it is complete, and not if the source fails or changes. At the end, the entity tag of the object is compared
/// with the tags of the parts, and its checksum is compared if the store states it. If the tag is not an MD5, the
/// length is requested and compared.
///
/// An upload that fails or is cancelled is aborted, and the store deletes its parts. With ``stateFile``, the upload is
/// kept instead, and continues the next time. If the response to the very first request is lost, an upload without
/// parts may remain in the store.
public struct S3Uploader: Sendable {
    /// The default of ``partByteCount`` and ``singleByteCount``: 16 MiB.
    public static let defaultPartByteCount: Int64 = 16 << 20

    /// The valid lengths of a part, in bytes.
    package static var partByteCounts: ClosedRange<Int64> {
        let limits = PartLimits()
        return limits.minimumByteCount...limits.maximumByteCount
    }

    /// The maximum length, in bytes, of a part that is kept in memory.
    static let maximumBufferByteCount: Int64 = 512 << 20

    /// The length of a part in bytes, from 5 MiB to 5 GiB. The default is 16 MiB.
    ///
    /// For a source of known length, the parts are enlarged as necessary, because an object has at most 10,000 parts. A
    /// source of unknown length that needs more parts fails with ``BlobError/Code/limitExceeded``; at 16 MiB, this
    /// happens after 156 GiB. A part that is kept in memory has at most 512 MiB.
    public var partByteCount = Self.defaultPartByteCount

    /// The maximum length, in bytes, of a source to store with one request, at least 0. The default is 16 MiB.
    ///
    /// A source of unknown length that ends within its first part is also stored with one request.
    public var singleByteCount = Self.defaultPartByteCount

    /// The maximum number of an object's parts to send concurrently, at least 1. The default is 4.
    public var maximumPartsAtOnce = 4

    /// The header fields to store with the object, such as `Cache-Control` or `x-amz-meta-name`.
    ///
    /// `Content-Type` replaces the media type of the source.
    public var fields: [BlobHTTPField] = []

    /// The path of a file for the state of a multipart upload. The default, nil, stores no state.
    ///
    /// Another process can continue the upload with the same source, object and part size.
    ///
    /// The source must be repeatable and have a validator. A weak validator, such as the size and times of a file, very
    /// probably identifies the content. Parts in the store are kept if their length and MD5 match the source. If the
    /// file contains the state of other content, the file is replaced and that upload is aborted. The file is removed
    /// at the end.
    public var stateFile: String?

    /// The default of ``maximumRetryCount``.
    static let defaultRetryCount = 5

    /// The rules for repeating each request after transient errors.
    ///
    /// The count of errors restarts once the store has accepted another request. ``BlobRetry/identity`` has no effect.
    public var retry = BlobRetry(maximumRetryCount: Self.defaultRetryCount)

    /// The maximum number of consecutive repetitions by ``retry``. The default is 5.
    public var maximumRetryCount: Int {
        get { self.retry.maximumRetryCount }
        set { self.retry.maximumRetryCount = newValue }
    }

    /// The maximum rate in bytes per second, above 0. The default, nil, sets no limit.
    ///
    /// With a limit, parts are sent one at a time.
    public var rateLimit: Int64?

    /// The rate limit that this upload shares with others, used instead of ``rateLimit``.
    package var allowance: ByteAllowance?

    /// The longest time without activity on a connection. The default is 60 seconds.
    public var idleLimit = BlobTransferSettings.defaultIdleLimit

    /// Called by any task of the upload with each error after which a request is repeated.
    public var onRetry: (@Sendable (BlobError) -> Void)?

    /// Called at the same times as ``onRetry``.
    package var onAttempt: (@Sendable (RetryFailures.Attempt) -> Void)?

    /// Called by any task of the upload with the number of bytes stored or handed to a connection, and the length of
    /// the source; the length is nil if unknown. The number decreases if a request is repeated.
    public var onProgress: (@Sendable (_ sent: Int64, _ byteCount: Int64?) -> Void)?

    /// An object that was stored.
    public struct StoredObject: Sendable, Equatable {
        /// The locator.
        public let locator: String
        /// The length in bytes.
        public let byteCount: Int64
        /// The entity tag without quotes, often the MD5, or the MD5 of the parts' MD5s and the number of parts.
        public let entityTag: String
    }

    /// Called at the end with the digest that was compared, such as `MD5 (ETag)`; nil if only the length was compared.
    package var onCheck: (@Sendable (String?) -> Void)?

    let service: S3Service
    var limits = PartLimits()

    /// Creates an uploader. Reads the configuration files of the AWS tools, but does not connect.
    ///
    /// - Throws: The errors of ``S3Source/init(_:options:)`` for invalid settings.
    public init(_ options: S3Source.Options = S3Source.Options()) throws(BlobError) {
        self.init(try BlobError.wrapping { try S3Service(options, .process) })
    }

    init(_ service: S3Service) { self.service = service }

    /// Stores a source, and returns once the store has the whole object.
    ///
    /// - Parameters:
    ///   - source: The source.
    ///   - locator: The object, as `s3://BUCKET/KEY` with a percent-encoded key. An existing object is replaced.
    ///   - context: The context. Its deadline applies to the whole upload, and its idle limit to the source.
    /// - Throws: An error of the source, which takes precedence over any other error;
    ///   ``BlobError/Code/permissionDenied``, ``BlobError/Code/notFound`` and others, according to the store's
    ///   response; ``BlobError/Code/checksumMismatch`` if the bytes in the store differ; ``BlobError/Code/changed`` for
    ///   content that changed in the meantime; ``BlobError/Code/limitExceeded`` for too many parts, or a part that is
    ///   too large for memory; ``BlobError/Code/unsupported`` for a state file with a source that cannot be read again
    ///   or compared; ``BlobError/Code/invalidLocator``, ``BlobError/Code/invalidArgument``,
    ///   ``BlobError/Code/timedOut``, ``BlobError/Code/cancelled``, and the errors of
    ///   ``BlobUploader/upload(_:with:matching:context:)``.
    public func upload(
        _ source: any BlobInputStreamDataSource, to locator: String, context: BlobContext = BlobContext()
    ) async throws(BlobError) -> StoredObject {
        let address = try Self.address(locator)
        try self.validate()
        return try await context.cancelledWithTask { (context) async throws(BlobError) in
            try await context.beginningUpload("PUT", printableURL(locator)).ending {
                (context) async throws(BlobError) in try await S3UploadJob(self, source, address, context).run()
            }
        }
    }

    /// Returns a client for the object at an address.
    func client(of address: S3Address, _ context: BlobContext) throws(BlobError) -> S3Client {
        let limits = S3Client.Limits(
            retry: self.retry, idleLimit: self.idleLimit,
            allowance: self.allowance ?? self.rateLimit.map { ByteAllowance(bytesPerSecond: $0) }
        ) { attempt in
            self.onRetry?(attempt.error)
            self.onAttempt?(attempt)
        }
        return S3Client(S3Requests(address, self.service), try BlobUploader(), limits, context)
    }

    /// Returns the address of the object that a locator names.
    ///
    /// - Throws: ``BlobError/Code/invalidLocator`` if the locator does not name an object, or names a version.
    static func address(_ locator: String) throws(BlobError) -> S3Address {
        let locator = try BlobLocator(locator)
        guard locator.scheme == "s3", locator.selectors.isEmpty, case let address = try S3Address(locator),
            address.version == nil
        else {
            throw BlobError(
                .invalidLocator, "The target of an S3 upload must be s3://BUCKET/KEY, without a version.",
                operation: "resolve")
        }
        return address
    }

    func validate() throws(BlobError) {
        guard self.singleByteCount >= 0, self.maximumPartsAtOnce > 0, self.maximumRetryCount >= 0,
            self.rateLimit ?? 1 > 0
        else {
            throw BlobError(
                .invalidArgument,
                "The limits of an upload must not be negative, and its rate and number of parallel parts must be above "
                    + "0.")
        }
        let reserved: Set = [
            "authorization", "content-length", "content-md5", "expect", "host", "transfer-encoding",
            "x-amz-content-sha256", "x-amz-date", "x-amz-security-token",
        ]
        try BlobHTTPField.validate(self.fields, reserved: reserved, "cannot be set, because the uploader sets it")
    }

    /// Returns the object at a locator if its tag proves that it equals the source; nil otherwise, and after a failure.
    ///
    /// The tag is proof if it is the MD5 of the bytes, or the tag of an object with parts of ``partByteCount``. The
    /// tags of encrypted objects, and of objects with parts of another size, prove nothing.
    ///
    /// - Throws: The errors of the source, and the errors for an invalid locator or invalid settings.
    package func existing(
        _ source: any BlobInputStreamDataSource, at locator: String, _ context: BlobContext
    ) async throws(BlobError) -> StoredObject? {
        // No repetitions here, because an error would recur when the source is stored, and that request is repeated.
        var asking = self
        asking.maximumRetryCount = 0
        let job = try S3UploadJob(asking, source, Self.address(locator), context)
        guard source.traits.contains(.repeatable),
            let found = try? await MultipartCompletion(client: job.client).storedObject()
        else { return nil }
        let info = try await BlockingPool.reads.value { () throws(BlobError) in try source.info(context) }
        let plan = try PartPlan(partByteCount: self.partByteCount, byteCount: info.byteCount, limits: self.limits)
        return try await job.isSource(found, plan, info) ? found : nil
    }

    /// The maximum number of repeated requests for an incomplete list of parts.
    private static let maximumListCount = 2

    /// Begins a multipart upload in parts of ``partByteCount``, for a source that other processes can also read.
    ///
    /// - Returns: The upload and the byte range of each part; nil if the source has a single part, or may
    ///   differ between processes because it lacks random access or a strong validator.
    /// - Throws: The errors of ``upload(_:to:context:)``.
    package func begin(
        _ source: any BlobInputStreamDataSource, to locator: String, _ context: BlobContext
    ) async throws(BlobError) -> (upload: SharedMultipartUpload, parts: [Range<Int64>])? {
        try self.validate()
        let job = try S3UploadJob(self, source, Self.address(locator), context)
        let info = try await BlockingPool.reads.value { () throws(BlobError) in try source.info(context) }
        guard let byteCount = info.byteCount, let validator = info.validator, validator.isStrong, info.isRandomAccess,
            source.traits.contains(.repeatable)
        else { return nil }
        let plan = try PartPlan(partByteCount: self.partByteCount, byteCount: byteCount, limits: self.limits)
        guard let count = plan.count, count > 1 else { return nil }
        let begun = try await job.begin(plan, info)
        let upload = SharedMultipartUpload(
            object: locator, identifier: begun.identifier, byteCount: byteCount, partByteCount: plan.partByteCount,
            validator: validator.token)
        return (upload, (1...count).map(plan.range))
    }

    /// Stores a part of a source, unless the part is already in the store.
    ///
    /// - Parameter number: The number of the part, starting at 1.
    /// - Returns: The byte range of the part, and its entity tag without quotes.
    /// - Throws: The errors of ``upload(_:to:context:)``; ``BlobError/Code/changed`` if the source has changed since
    ///   the beginning; ``BlobError/Code/notFound`` if the upload no longer exists in the store.
    package func store(
        _ number: Int, of upload: SharedMultipartUpload, _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) async throws(BlobError) -> (range: Range<Int64>, entityTag: String) {
        try self.validate()
        let plan = try upload.plan(self.limits)
        guard let count = plan.count, (1...count).contains(number) else {
            throw BlobError(.invalidArgument, "Part \(number) does not exist.", operation: "write")
        }
        let job = try S3UploadJob(self, source, Self.address(upload.object), context)
        let known = BlobInfo(byteCount: upload.byteCount, validator: .strong(upload.validator), isRandomAccess: true)
        let begun = MultipartUpload(client: job.client, identifier: upload.identifier)
        let stored = try await begun.part(number)
        let parts = ConcurrentPartUpload(
            job: job, plan: plan, info: known, storedParts: stored.map { [number: $0] } ?? [:])
        return (plan.range(of: number), try await parts.store(number, of: begun).part.tag)
    }

    /// Completes the object from the parts in the store.
    ///
    /// If the upload does not exist in the store, an earlier call whose response was lost may have completed the
    /// object. The object is then compared with the source: by its tag, or otherwise by the SHA-256 of its bytes, which
    /// are downloaded.
    ///
    /// - Parameter source: Returns the source. Called only if a comparison is necessary.
    /// - Returns: The object, and whether this call completed it.
    /// - Throws: The errors of ``upload(_:to:context:)``; ``BlobError/Code/truncated`` if a part is missing;
    ///   ``BlobError/Code/changed`` if the store has a different object.
    package func finish(
        _ upload: SharedMultipartUpload, of source: @escaping @Sendable () throws -> any BlobInputStreamDataSource,
        _ context: BlobContext
    ) async throws(BlobError) -> (object: StoredObject, isNew: Bool) {
        try self.validate()
        let plan = try upload.plan(self.limits)
        let client = try self.client(of: Self.address(upload.object), context)
        let begun = MultipartUpload(client: client, identifier: upload.identifier)
        let object = MultipartCompletion(client: client)
        guard let parts = try await self.parts(of: begun, plan, context) else {
            let found = try await object.storedObject()
            guard try await self.isEqual(found, source, of: upload, plan, context) else {
                throw BlobError(
                    .changed, "The store no longer has the upload, but has another object in its place.",
                    operation: "write", locator: upload.object)
            }
            return (found, false)
        }
        do throws(BlobError) {
            // The tags prove nothing about the source, but each tag was compared when its part was stored.
            return (try await object.create(from: parts.map { FinishedPart(part: $0, md5: []) }, begun).object, true)
        } catch {
            guard let found = try? await object.storedObject() else { throw error }
            let digests = parts.compactMap { EntityTag.md5($0.tag) }
            let isMade =
                digests.count == parts.count && found.byteCount == plan.byteCount
                && found.entityTag.lowercased() == EntityTag.combined(digests)
            if isMade { return (found, true) }
            guard (try? await self.isEqual(found, source, of: upload, plan, context)) == true else { throw error }
            return (found, true)
        }
    }

    /// Returns true if an object in the store equals the source of an upload.
    private func isEqual(
        _ object: StoredObject, _ source: @escaping @Sendable () throws -> any BlobInputStreamDataSource,
        of upload: SharedMultipartUpload, _ plan: PartPlan, _ context: BlobContext
    ) async throws(BlobError) -> Bool {
        guard object.byteCount == upload.byteCount else { return false }
        let source = try await BlockingPool.reads.value { () throws(BlobError) in try BlobError.wrapping(source) }
        let job = try S3UploadJob(self, source, Self.address(upload.object), context)
        let info = BlobInfo(byteCount: upload.byteCount, validator: .strong(upload.validator))
        if try await job.isSource(object, plan, info) { return true }
        return try await job.isSourceRead(object, info)
    }

    /// Returns all parts; nil if the upload does not exist in the store. A stored part may appear in the list with a
    /// delay.
    private func parts(
        of begun: MultipartUpload, _ plan: PartPlan, _ context: BlobContext
    ) async throws(BlobError) -> [MultipartUpload.Part]? {
        let numbers = 1...(plan.count ?? 1)
        let firstPause = self.retry.maximumDelays.lowerBound
        var pauses = (0..<Self.maximumListCount).map { firstPause * (1 << $0) }[...]
        while true {
            guard let stored = try await begun.parts() else { return nil }
            let missing = numbers.first { stored[$0]?.byteCount != Int64(plan.range(of: $0).count) }
            guard let missing else { return numbers.compactMap { stored[$0] } }
            guard let pause = pauses.popFirst() else {
                throw BlobError(
                    .truncated, "Part \(missing) of \(numbers.count) is not in the store.", operation: "write",
                    locator: begun.client.requests.address.text, isTransient: false)
            }
            try await context.sleep(for: pause)
        }
    }

    /// Requests that the store delete the parts of an upload, unless the upload is complete.
    package func abort(_ upload: SharedMultipartUpload, _ context: BlobContext) async throws(BlobError) {
        let client = try self.client(of: Self.address(upload.object), context)
        try await MultipartUpload(client: client, identifier: upload.identifier).abort()
    }
}

/// A multipart upload whose parts are stored by several processes, such as the tasks of an engine.
///
/// One process begins the upload, others store its parts in any order and any number of times, and one completes the
/// object. The object appears only once it is complete. An upload that is neither completed nor aborted remains in the
/// store.
package struct SharedMultipartUpload: Sendable, Equatable {
    /// The locator of the object.
    package let object: String
    /// The identifier that the store assigned to the upload.
    package let identifier: String
    /// The length of the source in bytes.
    package let byteCount: Int64
    /// The length of each part except the last, in bytes.
    package let partByteCount: Int64
    /// The token of the source's strong validator, with which each process checks that it reads the same content.
    package let validator: String

    package init(object: String, identifier: String, byteCount: Int64, partByteCount: Int64, validator: String) {
        (self.object, self.identifier) = (object, identifier)
        (self.byteCount, self.partByteCount, self.validator) = (byteCount, partByteCount, validator)
    }

    /// Returns the division of the object into parts.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` or ``BlobError/Code/limitExceeded`` for lengths that S3 does not
    ///   allow.
    func plan(_ limits: PartLimits) throws(BlobError) -> PartPlan {
        let plan = try PartPlan(partByteCount: self.partByteCount, byteCount: self.byteCount, limits: limits)
        guard self.byteCount >= 0, plan.partByteCount == self.partByteCount else {
            throw BlobError(
                .invalidArgument,
                "An object of \(self.byteCount) bytes cannot be divided into parts of \(self.partByteCount) bytes.",
                operation: "write")
        }
        return plan
    }
}
