#if AsyncHTTPClient
public import AsyncHTTPClient
public import BlobCore
internal import NIOCore

/// An operation that reads a source for the body of one request.
///
/// If the length is known, a buffer is returned only after the read that follows it, so that the body becomes complete
/// only when the source has verified its end.
final class BodyReading: @unchecked Sendable {  // Safe: `isReading` gives reader and buffers to one call at a time.
    private struct State {
        var isReading = false
        var isStopped = false
        var outcome: Result<Void, BlobError>?
    }

    /// The facts about the bytes, final.
    let info: BlobInfo
    private let buffers: BodyBuffers
    private let cancellation: BlobCancellation
    private let state = Locked(State())
    private let endGate = Gate()
    private var heldBuffer: ByteBuffer?  // Read, and not returned yet.

    /// Opens a source and reads its first bytes. For an empty source this reaches the end, which must be verified
    /// before a length of 0 is announced.
    init(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ context: BlobContext
    ) async throws(BlobError) {
        let context = context.makeChild()
        self.cancellation = context.cancellation
        let buffers = BodyBuffers(try source.withoutBlocking.open(matching: validator, context: context))
        self.heldBuffer = try await buffers.next(endingWith: context.cancellation)
        self.info = buffers.info
        self.buffers = buffers
        // The client requests no bytes of an empty body.
        if self.heldBuffer == nil { self.finish(.success(())) }
    }

    deinit { self.buffers.close() }

    /// Returns the next bytes of the body; nil at its end. Called by one task.
    func next() async throws(BlobError) -> ByteBuffer? {
        let isStopped = self.state.withLock { state in
            state.isReading = !state.isStopped
            return state.isStopped
        }
        guard !isStopped else { throw BlobError(.cancelled, "The request has ended.", operation: "read") }
        defer { self.endRead() }
        do throws(BlobError) {
            let buffer = try await self.nextBuffer()
            if buffer == nil { self.finish(.success(())) }
            return buffer
        } catch {
            self.finish(.failure(error))
            throw error
        }
    }

    /// Waits until the whole body has been returned; throws the error that prevented this.
    func waitForEnd() async throws(BlobError) {
        await withTaskCancellationHandler {
            await withCheckedContinuation { self.endGate.enter($0) }
        } onCancel: {
            self.stop()
        }
        try self.state.withLock { $0.outcome }?.get()
    }

    /// The error that made the body incomplete; nil if no error has occurred.
    var failure: BlobError? {
        guard case .failure(let error) = self.state.withLock({ $0.outcome }) else { return nil }
        return error
    }

    /// Sets the outcome, unless it is already set.
    func finish(_ outcome: Result<Void, BlobError>) {
        self.state.withLock { $0.outcome = $0.outcome ?? outcome }
        self.endGate.open()
    }

    /// Stops reading. A read in progress closes the reader when it returns.
    func stop() {
        self.finish(.failure(BlobError(.cancelled, "The request has ended.", operation: "read")))
        self.cancellation.cancel()
        let isReading = self.state.withLock { state in
            defer { state.isStopped = true }
            return state.isReading || state.isStopped
        }
        if !isReading { self.close() }
    }

    private func nextBuffer() async throws(BlobError) -> ByteBuffer? {
        guard self.info.byteCount != nil else {
            if let first = self.heldBuffer.take() { return first }
            return try await self.buffers.next()
        }
        guard let ready = self.heldBuffer else { return nil }
        self.heldBuffer = try await self.buffers.next()
        return ready
    }

    private func endRead() {
        let mustClose = self.state.withLock { state in
            state.isReading = false
            return state.isStopped || state.outcome != nil
        }
        if mustClose { self.close() }
    }

    private func close() {
        self.heldBuffer = nil
        self.buffers.close()
    }
}

/// The bytes of a ``BodyReading`` in the form that async-http-client accepts. Iterated once.
struct BodySequence: AsyncSequence, Sendable {
    let reading: BodyReading

    func makeAsyncIterator() -> Iterator { Iterator(self.reading) }

    /// A class, because its release reveals a request that ended before its body did.
    final class Iterator: AsyncIteratorProtocol {
        private let reading: BodyReading

        init(_ reading: BodyReading) { self.reading = reading }

        deinit {
            let error = BlobError(.io, "The server ended the request before it was complete.", operation: "write")
            self.reading.finish(.failure(error))
        }

        func next() async throws -> ByteBuffer? { try await self.reading.next() }
    }
}

extension HTTPClientRequest.Body {
    /// Returns a body that streams a source, and becomes complete only when the source has verified its end.
    ///
    /// The source is opened and its first bytes are read at once, so that an unreadable source fails before a
    /// connection is made. Its length is announced if it is known; otherwise the body is chunked.
    ///
    /// The body is for one request: async-http-client does not follow redirections that need it again, but
    /// ``AsyncHTTPClient/HTTPClient/upload(_:as:maximumRedirectionCount:followingOtherOrigins:context:)`` does. That
    /// method also stops reading when the request ends. Here, a failed request stops it at the next bytes, and a
    /// request that was refused early stops it only when the context is cancelled.
    ///
    /// - Parameters:
    ///   - source: The source. If it may block, threads of a pool read it ahead of the connection.
    ///   - validator: The identity that the content must have; nil, the default, accepts any.
    ///   - context: The context of the reads. Its idle limit applies to the source, not to the connection.
    /// - Throws: Errors of the source, here and, unchanged, as the error of the request.
    /// - Complexity: At most four buffers of 128 KiB besides the memory of the source, which are reused.
    public static func source(
        _ source: any BlobInputStreamDataSource, matching validator: BlobValidator? = nil,
        context: BlobContext = BlobContext()
    ) async throws(BlobError) -> Self {
        try await BodyReading(source, matching: validator, context).body
    }
}

extension BodyReading {
    /// The body; only one request may use it.
    var body: HTTPClientRequest.Body {
        .stream(BodySequence(reading: self), length: self.info.byteCount.map { .known($0) } ?? .unknown)
    }
}
#endif
