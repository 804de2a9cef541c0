package import BlobCore

/// An object on a server, read by ranges: the engine of sources whose bytes are answers of HTTP.
///
/// All readers of a source share the facts from its answers, and the windows that were read last.
package final class RemoteObject: Sendable {
    private struct State {
        var version: RemoteVersion?
        var readerCount = 0
        var lastUse = Moment.now
    }

    /// The default number of bytes that are kept for the readers of one object.
    package static let defaultCacheByteCount: Int64 = 4 << 20

    /// The age at which facts and bytes that no reader uses are not used again: the object may have changed.
    private static let freshness = Duration.seconds(30)

    private let requests: any RemoteRequests
    private let cacheByteCount: Int64
    private let state = Locked(State())
    private let coverages = DigestCoverages()

    /// - Parameters:
    ///   - requests: The requests for the object.
    ///   - cacheByteCount: The number of bytes to keep for all readers together, from 0; the latest answer is always
    ///     kept, up to 1 MiB.
    package init(_ requests: any RemoteRequests, cacheByteCount: Int64 = defaultCacheByteCount) {
        (self.requests, self.cacheByteCount) = (requests, cacheByteCount)
    }

    /// Returns the facts of the object; requests them, and the beginning of the object, if no recent answer has them.
    /// Blocks until then.
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
            .prepare(ranges, arePieces: !context.readsPartsInParallel, idleLimit: context.idleLimit)
    }

    /// Returns the version that is known, if it is recent and may have the validator; a new one otherwise.
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

    /// Opens a stream, which makes its requests when it is read or asked. Does not block.
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

/// The requests for one remote object: how they are made, and what their answers mean.
///
/// The seam between the reading of objects (``RemoteObject``) and a protocol with its addresses and signatures. A
/// source is its locator and a value of this type.
package protocol RemoteRequests: Sendable {
    /// Makes the request for the object that has these fields, `Range` and a condition, and passes it on.
    ///
    /// Must not block. `completion` is called once, on any thread, perhaps before this returns.
    func makeRequest(
        _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void)

    /// The scheme of the object's locator.
    var scheme: String { get }

    /// The name of the field with the condition that the object is still the same: `If-Range` or `If-Match`.
    var conditionField: String { get }

    /// Returns the name of the object, for people and forms.
    func name(_ head: ResponseHead) -> String?

    /// Returns the digests of the whole object that an answer states.
    func digests(_ head: ResponseHead) -> [BlobStatedDigest]

    /// Asks for digests that answers with bytes do not state, if there may be any.
    ///
    /// - Parameters:
    ///   - tag: The ETag of the object.
    ///   - cancellation: Ends the requests.
    ///   - completion: Called once, perhaps before this returns, with what was found: all of the object, or its parts in
    ///     their order; with nothing after any error.
    func findDigests(
        of info: BlobInfo, tag: String?, _ cancellation: BlobCancellation,
        _ completion: @escaping @Sendable ([StatedRange]) -> Void
    )

    /// Learns from an answer that is not the object; returns true when a request that is made anew may succeed. Asked
    /// once for each part of an object.
    func corrects(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool

    /// Returns the error for an answer that is not the object.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError
}

extension RemoteRequests {
    package var conditionField: String { "If-Range" }

    /// The digests in ``ResponseHead/objectDigests``.
    package func digests(_ head: ResponseHead) -> [BlobStatedDigest] { head.objectDigests }

    /// Finds nothing: answers state all digests that there are.
    package func findDigests(
        of info: BlobInfo, tag: String?, _ cancellation: BlobCancellation,
        _ completion: @escaping @Sendable ([StatedRange]) -> Void
    ) { completion([]) }

    /// False: answers teach nothing.
    package func corrects(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool { false }

    /// The error of ``BlobError/init(refusing:_:)``.
    package func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        BlobError(refusing: head, explanation)
    }
}
