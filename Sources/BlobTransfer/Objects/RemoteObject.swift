package import BlobCore

/// An object on a server, read by ranges. It is the engine of sources whose bytes come from HTTP responses.
///
/// All readers of a source share the facts from its responses and the most recently read windows.
package final class RemoteObject: Sendable {
    private struct State {
        var version: RemoteVersion?
        var readerCount = 0
        var lastUse = CompactInstant.now
    }

    /// The default number of bytes to cache for the readers of one object.
    package static let defaultCacheByteCount: Int64 = 4 << 20

    /// The age at which facts and bytes without readers are no longer used, because the object may have changed.
    private static let freshness = Duration.seconds(30)

    private let requests: any RemoteRequests
    private let cacheByteCount: Int64
    private let state = Locked(State())
    private let coverages = DigestCoverages()

    /// - Parameters:
    ///   - requests: The requests for the object.
    ///   - cacheByteCount: The number of bytes to cache for all readers together, at least 0. The latest response is
    ///     always cached, up to 1 MiB.
    package init(_ requests: any RemoteRequests, cacheByteCount: Int64 = defaultCacheByteCount) {
        (self.requests, self.cacheByteCount) = (requests, cacheByteCount)
    }

    /// Returns the facts about the object.
    ///
    /// Unless a recent response states them, requests them with the beginning of the object, and blocks until they
    /// arrive.
    package func describe(_ context: BlobContext) throws(BlobError) -> BlobInfo {
        let stream = try self.makeStream(BlobOpening(context: context))
        defer { stream.close() }
        let signal = WaitSignal()
        while true {
            if let info = try BlobError.wrapping({ try stream.info }) { return info }
            let isReady = Locked(false)
            stream.readiness?.store(
                BlobWaker {
                    _ = isReady.exchange(true)
                    signal.signal()
                })
            try context.wait(on: signal) { isReady.withLock { $0 } ? () : nil }
        }
    }

    /// Requests ranges that will be read next.
    package func prepare(_ ranges: [Range<Int64>], _ context: BlobContext) {
        self.version(matching: nil) { $0.lastUse = .now }
            .prepare(ranges, arePieces: !context.readsPartsInParallel, for: RequestJob(context))
    }

    /// Returns the known version if it is recent and may match the validator; otherwise a new one.
    private func version(matching validator: BlobValidator?, use: (inout State) -> Void) -> RemoteVersion {
        self.state.withLock { state in
            let isFresh = state.readerCount > 0 || state.lastUse.instant + Self.freshness > .now
            use(&state)
            if let version = state.version, isFresh,
                version.info.map({ validator == nil || validator == $0.validator }) ?? true
            {
                return version
            }
            let version = RemoteVersion(self.requests, cacheByteCount: self.cacheByteCount) { [weak self] version in
                self?.state.withLock { state in if state.version === version { state.version = nil } }
            }
            state.version = version
            return version
        }
    }

    /// Opens a stream, which makes its requests when it is read or its info is requested. Does not block.
    package func makeStream(_ opening: BlobOpening) throws(BlobError) -> any BlobByteStream {
        let version = self.version(matching: opening.validator) { $0.readerCount += 1 }
        let onClose = { @Sendable in
            self.state.withLock { state in
                state.readerCount -= 1
                state.lastUse = .now
            }
        }
        return try RemoteStream(version, opening, self.coverages, onClose: onClose)
    }
}

/// The requests for one remote object, and the interpretation of the responses.
///
/// This protocol is the interface between ``RemoteObject``, which reads objects, and a network protocol with its
/// addresses and signatures. A source consists of its locator and a value of this type.
package protocol RemoteRequests: Sendable {
    /// Creates the request for the object with the given fields, such as `Range` and a condition, and passes it to
    /// `completion`.
    ///
    /// Must not block. `completion` is called once, on any thread, possibly before this method returns.
    func makeRequest(
        _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void)

    /// The scheme of the object's locator.
    var scheme: String { get }

    /// The name of the field that requires the object to be unchanged: `If-Range` or `If-Match`.
    var conditionField: String { get }

    /// Returns the name of the object, for display and forms.
    func name(_ head: ResponseHead) -> String?

    /// Returns the digests of the whole object that a response states.
    func digests(_ head: ResponseHead) -> [BlobStatedDigest]

    /// Requests digests that responses with bytes do not state, if there may be any.
    ///
    /// - Parameters:
    ///   - tag: The ETag of the object.
    ///   - cancellation: Ends the requests.
    ///   - completion: Called once, possibly before this method returns, with the digests found, either for the whole
    ///     object or for its parts in order; with an empty array after any error.
    func findDigests(
        of info: BlobInfo, tag: String?, _ cancellation: BlobCancellation,
        _ completion: @escaping @Sendable ([StatedRange]) -> Void
    )

    /// Uses a response that refuses the object to correct later requests; returns true if a new request may succeed.
    ///
    /// Called at most once for each request.
    func correctsRequest(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool

    /// Returns the error for a response that refuses the object.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError
}

extension RemoteRequests {
    package var conditionField: String { "If-Range" }

    /// The digests in ``ResponseHead/objectDigests``.
    package func digests(_ head: ResponseHead) -> [BlobStatedDigest] { head.objectDigests }

    /// Finds no digests, because responses already state all available digests.
    package func findDigests(
        of info: BlobInfo, tag: String?, _ cancellation: BlobCancellation,
        _ completion: @escaping @Sendable ([StatedRange]) -> Void
    ) { completion([]) }

    /// Returns false, because by default no response corrects later requests.
    package func correctsRequest(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool { false }

    /// The error of ``BlobError/init(refusing:_:)``.
    package func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        BlobError(refusing: head, explanation)
    }
}
