#if AsyncHTTPClient
    internal import BlobCore
    internal import NIOCore

    /// The bytes of a ``BodyReading`` as async-http-client takes them. Iterated once.
    struct BodySequence: AsyncSequence, Sendable {
        let reading: BodyReading

        func makeAsyncIterator() -> Iterator { Iterator(self.reading) }

        /// An object: its release reveals a request that ended before its body did.
        final class Iterator: AsyncIteratorProtocol {
            private let reading: BodyReading

            init(_ reading: BodyReading) { self.reading = reading }

            deinit {
                let error = BlobError(.io, "The server ended the request before it was whole.", operation: "write")
                self.reading.finish(.failure(error))
            }

            func next() async throws -> ByteBuffer? { try await self.reading.next() }
        }
    }
#endif
