public import BlobCore
import BlobPlatform

/// Uploads a source in as many requests as necessary.
///
/// After each failed request, the uploader asks the server how many bytes it has received, and sends the rest.
///
/// ```swift
/// var uploader = ResumableUploader(BlobUploadRequest(.post, "https://host/files/"))
/// uploader.stateFile = UploadStateFile(path: "photo.upload")
/// let url = try await uploader.upload(source)
/// ```
///
/// With a state file, another process can continue an upload after this process was killed. The validator identifies
/// the content; a weak validator, such as the size and times of a file, is not conclusive.
///
/// If a tus server supports checksums, a source with random access is sent in pieces of at most 16 MiB. Each piece is
/// read twice: first to compute its checksum, and then to send it. If the server states a digest of the whole at the
/// end and not all pieces were compared, the source is read once more and compared with the digest.
public struct ResumableUploader: Sendable {
    /// The statuses for uploads that do not exist on the server or no longer exist.
    private static let missingStatuses: Set = [404, 410]

    /// The statuses of a request that does not match the server's state, because a request that the server has not yet
    /// ended holds a lock or changed the offset, because bytes are damaged, or because the server failed. The state is
    /// then requested again.
    private static let mismatchStatuses: Set = [409, 423, 460, 500]

    /// The default of ``maximumFailureCount``.
    private static let defaultMaximumFailureCount = 8

    /// The `POST` request that creates the upload.
    ///
    /// Its limits and fields apply to all requests. `Content-Type` replaces the media type of the source in the
    /// metadata of the upload.
    public var request: BlobUploadRequest

    /// The protocol of the server. The default is tus.
    public var wireProtocol = ResumableUploadProtocol.tus

    /// The number of parts to upload concurrently, at least 1. The default is 1.
    ///
    /// More than one part requires tus, a server that joins parts, and a source with random access. The parts share the
    /// rate limit of the request.
    public var partCount = 1

    /// The file from which another process can continue, removed at the end; nil to store no state.
    public var stateFile: UploadStateFile?

    /// The boundary of a form, stored in the state, because the same boundary reproduces the form byte for byte.
    public var boundary: String?

    /// The number of consecutive failures without progress before the upload fails.
    ///
    /// If the value is nil, 8 failures are allowed, but until the upload exists on the server, the first error with the
    /// code ``BlobError/Code/unavailable`` ends the call.
    public var maximumFailureCount: Int?

    /// Called on any thread with each error after which the upload continues.
    public var onRetry: (@Sendable (BlobError) -> Void)?

    /// Called at the end with the digest that was compared, such as `SHA-256`; nil if the server neither compared the
    /// bytes nor stated a digest.
    package var onCheck: (@Sendable (String?) -> Void)?

    /// Called at the same times as ``onRetry``.
    package var onAttempt: (@Sendable (RetryFailures.Attempt) -> Void)?

    /// Creates an uploader that stores no state.
    ///
    /// - Parameter request: The request that creates the upload.
    public init(_ request: BlobUploadRequest) { self.request = request }

    /// Uploads a source and returns the URL of its upload once the server has received all bytes.
    ///
    /// A state that belongs to different content is replaced. If the upload no longer exists on the server, the upload
    /// starts over, once.
    ///
    /// Cancelling the task or the context ends the upload immediately and keeps the state.
    ///
    /// - Parameters:
    ///   - source: A repeatable source with a validator and a known length.
    ///   - context: The context; its idle limit applies to each request.
    /// - Throws: ``BlobError/Code/unsupported`` for other sources; ``BlobError/Code/changed`` if the content changes
    ///   before the end; ``BlobError/Code/checksumMismatch`` if the bytes on the server differ;
    ///   ``BlobError/Code/unavailable`` while another uploader uses the state file; the errors of
    ///   ``BlobUploader/upload(_:with:matching:context:)``, which keep the state.
    public func upload(
        _ source: any BlobInputStreamDataSource, context: BlobContext = BlobContext()
    ) async throws(BlobError) -> String {
        try await context.cancelledWithTask { (context) async throws(BlobError) in
            try await context.beginningUpload("resumable", self.request.printableURL).ending {
                (context) async throws(BlobError) in try await self.repeatingUpload(source, context)
            }
        }
    }

    private func repeatingUpload(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) async throws(BlobError) -> String {
        let info = try await BlockingPool.openings.value { () throws(BlobError) in try source.info(context) }
        guard source.traits.contains(.repeatable), let byteCount = info.byteCount, let validator = info.validator,
            self.partCount == 1 || info.isRandomAccess
        else {
            throw BlobError(
                .unsupported,
                "A resumable upload requires a source that can be read again and has a known length and a validator"
                    + (self.partCount > 1 ? "; uploading in parallel also requires random access." : "."),
                locator: source.locator?.description)
        }
        let lock = try self.stateFile?.lock()
        defer { lock?.release() }
        let content = ResumableContent(source: source, info: info, byteCount: byteCount, validator: validator)
        var upload = try ResumableUpload(self, content, context)
        var state = self.stateFile?.load().flatMap { upload.isContinued(by: $0) ? $0 : nil }
        var hasBegunAnew = false
        while true {
            let isNew = state == nil
            let current: UploadState
            if let state {
                current = state
            } else {
                current = try await self.repeating(context, isUnknown: true) { [upload] (_) async throws(BlobError) in
                    try await upload.create()
                }
            }
            do throws(BlobError) {
                return try await upload.finish(current, isNew: isNew)
            } catch {
                let status = (error.cause as? BlobUploadRefusal)?.response.status ?? 0
                guard Self.missingStatuses.contains(status), !hasBegunAnew else { throw error }
                (state, hasBegunAnew) = (nil, true)
                upload = try ResumableUpload(self, content, context)
                self.report(RetryFailures.Attempt(after: error, number: 1, of: self.rules.maximumRetryCount))
            }
        }
    }

    private func report(_ attempt: RetryFailures.Attempt) {
        self.onRetry?(attempt.error)
        self.onAttempt?(attempt)
    }

    private var rules: BlobRetry {
        var rules = self.request.retry
        rules.maximumRetryCount = self.maximumFailureCount ?? Self.defaultMaximumFailureCount
        return rules
    }

    /// Repeats a call until it succeeds or fails permanently.
    ///
    /// - Parameters:
    ///   - isUnknown: True while the upload does not exist on the server.
    ///   - body: Makes the call. Resets the count of failures after any progress.
    fileprivate func repeating<Value>(
        _ context: BlobContext, isUnknown: Bool = false,
        _ body: (_ failures: inout RetryFailures) async throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        var failures = RetryFailures(self.rules)
        while true {
            do throws(BlobError) {
                return try await body(&failures)
            } catch {
                guard error.operation == "write", Self.isRetryable(error),
                    self.maximumFailureCount != nil || !isUnknown || error.code != .unavailable
                else { throw error }
                var failure = error
                failure.isTransient = true
                let attempt = try failures.attempt(after: failure, context)
                self.report(attempt)
                try await context.sleep(for: attempt.delay)
            }
        }
    }

    private static func isRetryable(_ error: BlobError) -> Bool {
        guard let response = (error.cause as? BlobUploadRefusal)?.response else { return error.isTransient }
        // A response with this field is about the whole body, which the server has received.
        guard response.value(of: "upload-complete") != "?1" else { return false }
        return error.isTransient || self.mismatchStatuses.contains(response.status)
    }
}

/// A source, and the facts about it when the upload began.
struct ResumableContent: Sendable {
    let source: any BlobInputStreamDataSource
    let info: BlobInfo
    let byteCount: Int64
    let validator: BlobValidator
}

/// One resumable upload, which makes the requests for its parts.
struct ResumableUpload: Sendable {
    private let uploader: ResumableUploader
    private let content: ResumableContent
    private let requests: ResumableRequests
    // A child context with its own cancellation, so that the failure of a part ends the others.
    private let context: BlobContext
    private let ranges: [Range<Int64>]
    /// The number of bytes sent for each part.
    private let progress: Locked<[Int64]>
    private let checks = Locked(PieceChecks())

    init(_ uploader: ResumableUploader, _ content: ResumableContent, _ context: BlobContext) throws(BlobError) {
        (self.uploader, self.content, self.context) = (uploader, content, context.makeChild())
        let count = uploader.wireProtocol == .tus ? max(1, min(Int64(uploader.partCount), content.byteCount)) : 1
        let bounds = (0...count).map { content.byteCount / count * $0 + min($0, content.byteCount % count) }
        self.ranges = zip(bounds, bounds.dropFirst()).map { $0..<$1 }
        self.progress = Locked(Array(repeating: 0, count: self.ranges.count))
        var request = uploader.request
        request.allowance = request.ownAllowance
        (request.onResponseBody, request.onProgress, request.maximumRetryCount) = (nil, nil, 0)
        // After an error, the state is requested from the server.
        request.isRepeatable = true
        self.requests = try ResumableRequests(uploader.wireProtocol, request, self.context)
    }

    /// Returns true if this upload can continue from the state.
    func isContinued(by state: UploadState) -> Bool {
        state.url == self.uploader.request.url && state.byteCount == self.content.byteCount
            && state.validator == self.content.validator.text && state.wire ?? .tus == self.uploader.wireProtocol
            && state.parts?.count ?? 1 == self.ranges.count
            && (state.parts ?? [state.location]).allSatisfy(self.requests.hasSameOrigin)
    }

    // MARK: Creation

    /// Creates the upload or all of its parts.
    func create() async throws(BlobError) -> UploadState {
        var state = UploadState(
            url: self.uploader.request.url, location: "", byteCount: self.content.byteCount,
            validator: self.content.validator.text, boundary: self.uploader.boundary, wire: self.uploader.wireProtocol)
        if self.ranges.count == 1 {
            (state.location, state.version) = try await self.requests.create(self.content.byteCount, self.metadata)
        } else {
            var parts: [String] = []
            for range in self.ranges { parts.append(try await self.requests.createPart(Int64(range.count))) }
            state.parts = parts
        }
        try self.uploader.stateFile?.store(state)
        return state
    }

    private var metadata: ResumableMetadata {
        let type = self.uploader.request.fields.first { $0.name.lowercased() == "content-type" }?.value
        return ResumableMetadata(
            name: self.content.info.name ?? "upload",
            mediaType: type ?? self.content.info.mediaType ?? "application/octet-stream")
    }

    // MARK: Bytes

    /// Sends the bytes that the server lacks, and returns the URL of the upload.
    ///
    /// - Parameter isNew: True if the server has no bytes yet.
    func finish(_ state: UploadState, isNew: Bool) async throws(BlobError) -> String {
        guard let parts = state.parts else {
            let digests = try await self.send(0, to: state.location, state.version, isNew: isNew)
            // The upload is complete, even if its bytes are wrong.
            self.uploader.stateFile?.remove()
            try await self.check(digests)
            return state.location
        }
        _ = try await concurrently(parts.count, atOnce: parts.count, onFailure: self.context.cancellation.cancel) {
            (number) async throws(BlobError) in
            try await self.send(number, to: parts[number], nil, isNew: isNew)
        }
        let (location, digests) = try await self.uploader.repeating(self.context) { (_) async throws(BlobError) in
            try await self.requests.join(parts, self.metadata)
        }
        // Before the parts are removed, because without them the same state would start a new upload.
        self.uploader.stateFile?.remove()
        for part in parts { try? await self.requests.remove(part) }
        try await self.check(digests)
        return location
    }

    /// Compares the source with the server's digests of the whole, unless the server has compared every piece.
    ///
    /// - Throws: ``BlobError/Code/checksumMismatch``, and the errors of reading the source.
    private func check(_ stated: [BlobStatedDigest]) async throws(BlobError) {
        if let algorithm = self.checks.withLock({ $0.isWhole ? $0.algorithm ?? nil : nil }) {
            self.uploader.onCheck?("\(algorithm.title) of each piece")
            return
        }
        let (content, context) = (self.content, self.context.blocking)
        let url = printableURL(self.uploader.request.url)
        let compared = try await BlockingPool.reads.value { () throws(BlobError) -> String? in
            guard var check = StatedDigestCheck(stated) else { return nil }
            try content.source.forEachPiece(matching: content.validator, context) { bytes in
                check.append(bytes, at: check.reachedOffset)
            }
            do throws(BlobError) {
                return try check.finish()
            } catch {
                throw BlobError(error.code, error.message, operation: "write", locator: url, isTransient: false)
            }
        }
        self.uploader.onCheck?(compared)
    }

    /// Sends the rest of a part, and returns the digests that the server states for it.
    private func send(
        _ number: Int, to location: String, _ version: String?, isNew: Bool
    ) async throws(BlobError) -> [BlobStatedDigest] {
        let range = self.ranges[number]
        let byteCount = Int64(range.count)
        var (isNew, known, piece) = (isNew, Int64(-1), PieceLength())
        return try await self.uploader.repeating(self.context) { (failures) async throws(BlobError) in
            var state =
                isNew
                ? ResumableOffset(offset: 0, isComplete: false)
                : try await self.requests.offset(of: location, byteCount, version)
            isNew = false
            while true {
                // The server has bytes from an earlier run or an interrupted piece.
                if ![max(known, 0), piece.endOffset].contains(state.offset) {
                    self.checks.withLock { $0.isWhole = false }
                }
                if state.offset > known { failures.end() }
                known = max(known, state.offset)
                if state.isComplete { return state.digests }
                state = try await self.append(range, from: state.offset, number, &piece, to: location, version)
            }
        }
    }

    /// Returns the checksum algorithm for pieces; nil if no checksums are sent.
    private func checksumAlgorithm() async throws(BlobError) -> StatedAlgorithm? {
        // Without random access, each piece would be read from the start of the source.
        guard self.content.info.isRandomAccess else { return nil }
        if let known = self.checks.withLock({ $0.algorithm }) { return known }
        let algorithm = try await self.requests.checksumAlgorithm()
        self.checks.withLock { $0.algorithm = .some(algorithm) }
        return algorithm
    }

    private func append(
        _ range: Range<Int64>, from offset: Int64, _ number: Int, _ piece: inout PieceLength, to location: String,
        _ version: String?
    ) async throws(BlobError) -> ResumableOffset {
        let (content, context) = (self.content, self.context)
        let start = range.lowerBound + offset
        let algorithm = try await self.checksumAlgorithm()
        let end = algorithm == nil ? range.upperBound : min(start + piece.byteCount, range.upperBound)
        let isSame = try await BlockingPool.openings.value { () throws(BlobError) in
            try content.source.info(context).validator == content.validator
        }
        guard isSame else {
            throw BlobError(
                .changed, "The content changed after \(start) bytes of it had been uploaded.", operation: "read",
                locator: content.source.locator?.description, byteOffset: start)
        }
        // The validator from the beginning of the upload detects content that changes before it is opened.
        let isLast = end == content.byteCount
        let isWhole = start == 0 && isLast
        let recipe = "slice-\(start)-\(isLast ? "end" : String(end))"
        let validator = isWhole ? content.validator : BlobValidator.combined(recipe, [content.validator])
        let rest: any BlobInputStreamDataSource =
            isWhole
            ? content.source
            : isLast ? content.source.slice(start...) : content.source.slice(start..<end)
        var checksum: BlobStatedDigest?
        if let algorithm { checksum = try await self.checksum(algorithm, of: rest, matching: validator) }
        let onProgress = self.uploader.request.onProgress
        piece.begin(offset..<(end - range.lowerBound))
        let state = try await self.requests.append(
            rest, from: offset, Int64(range.count), matching: validator, checksum, to: location, version
        ) { [progress] sent in
            let sum = progress.withLock { progress in
                progress[number] = offset + sent
                return progress.reduce(0, +)
            }
            onProgress?(sum, content.byteCount)
        }
        piece.succeed()
        return state
    }

    private func checksum(
        _ algorithm: StatedAlgorithm, of piece: any BlobInputStreamDataSource, matching validator: BlobValidator
    ) async throws(BlobError) -> BlobStatedDigest? {
        let context = self.context.blocking
        return try await BlockingPool.reads.value { () throws(BlobError) -> BlobStatedDigest? in
            guard var hasher = algorithm.makeHasher() else { return nil }
            try piece.forEachPiece(matching: validator, context) { hasher.update($0) }
            return BlobStatedDigest(algorithm.rawValue, hasher.finalize(), origin: "Upload-Checksum")
        }
    }
}

/// The state of the checksums for the pieces of an upload.
private struct PieceChecks {
    /// The algorithm; nil until it is requested from the server. The inner optional is nil if the server supports none.
    var algorithm: StatedAlgorithm??
    /// False if the server has bytes that it did not compare in this run.
    var isWhole = true
}

/// The length of the pieces that are sent with a checksum.
///
/// A server stores a piece completely or not at all, so each piece must arrive before the connection is likely to
/// break.
private struct PieceLength {
    private static let maximumByteCount: Int64 = 16 << 20
    private static let minimumByteCount: Int64 = 1 << 10

    /// A piece sent faster than this makes the next piece longer, so that round trips take a small share of the time.
    private static let duration = Duration.seconds(1)

    /// The length of the next piece in bytes.
    private(set) var byteCount: Int64 = 256 << 10
    /// The offset at which the last piece of the upload ends.
    private(set) var endOffset: Int64 = 0
    private var (wantedByteCount, start) = (Int64(0), CompactInstant.now)

    /// Begins a piece. The next piece is shorter unless this one succeeds.
    mutating func begin(_ range: Range<Int64>) {
        (self.wantedByteCount, self.start, self.endOffset) = (self.byteCount, .now, range.upperBound)
        self.byteCount = max(min(self.byteCount, Int64(range.count)) / 4, Self.minimumByteCount)
    }

    mutating func succeed() {
        let isFast = CompactInstant.now - self.start < Self.duration
        self.byteCount = isFast ? min(2 * self.wantedByteCount, Self.maximumByteCount) : self.wantedByteCount
    }
}
