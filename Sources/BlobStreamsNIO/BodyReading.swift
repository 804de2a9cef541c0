#if AsyncHTTPClient
    internal import BlobCore
    internal import NIOCore

    /// The reading of a source for the body of one request.
    ///
    /// If the length is known, a buffer is returned once the read after it has returned, so that the body becomes
    /// complete only when the source has verified its end.
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
        private let end = Gate()
        private var held: ByteBuffer?  // Read, and not returned yet.

        /// Opens a source and reads its first bytes. Of an empty one this is the end, which must be verified before a
        /// length of 0 is announced.
        init(
            _ source: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ context: BlobContext
        ) async throws(BlobError) {
            let context = context.makeChild()
            self.cancellation = context.cancellation
            let buffers = BodyBuffers(try source.withoutBlocking.open(matching: validator, context: context))
            self.held = try await buffers.next(endingWith: context.cancellation)
            self.info = buffers.info
            self.buffers = buffers
            // No byte of an empty body is asked for.
            if self.held == nil { self.finish(.success(())) }
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

        /// Waits until the whole body was returned; throws the error for which it was not.
        func waitForEnd() async throws(BlobError) {
            await withTaskCancellationHandler {
                await withCheckedContinuation { self.end.enter($0) }
            } onCancel: {
                self.stop()
            }
            try self.state.withLock { $0.outcome }?.get()
        }

        /// The error for which the body is not whole; nil if there is none yet.
        var failure: BlobError? {
            guard case .failure(let error) = self.state.withLock({ $0.outcome }) else { return nil }
            return error
        }

        /// Sets the outcome, unless there is one.
        func finish(_ outcome: Result<Void, BlobError>) {
            self.state.withLock { $0.outcome = $0.outcome ?? outcome }
            self.end.open()
        }

        /// Ends the reading. A read that is under way closes the reader when it returns.
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
                if let first = self.held.take() { return first }
                return try await self.buffers.next()
            }
            guard let ready = self.held else { return nil }
            self.held = try await self.buffers.next()
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
            self.held = nil
            self.buffers.close()
        }
    }
#endif
