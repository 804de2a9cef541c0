#if AsyncHTTPClient
    internal import AsyncHTTPClient
    internal import BlobCore
    public import NIOCore
    public import NIOHTTP1

    /// The cause of ``BlobError/Code/refused``, with the answer of the server.
    public struct HTTPClientRefusal: Error, CustomStringConvertible, CustomReflectable {
        /// The maximum number of bytes of the body that are kept, enough for an error message.
        private static let maximumByteCount = 64 * 1024

        /// The time that the body has: a refusal whose body stalls is still a refusal.
        private static let bodyTimeout = Duration.seconds(5)

        /// The status of the answer.
        public let status: HTTPResponseStatus

        /// The header fields of the answer.
        public let headers: HTTPHeaders

        /// The beginning of the body: at most 64 KiB, and what arrived within five seconds.
        public let body: ByteBuffer

        /// The status. Nothing else that the server sent is in it, such as cookies.
        public var description: String { "The server answered \(self.status.code)." }

        /// The description alone.
        public var customMirror: Mirror { Mirror(self, children: ["description": self.description]) }

        /// Reads the beginning of the body.
        init(_ response: HTTPClientResponse) async {
            let body = Locked(ByteBuffer())
            let task = Task {
                for try await part in response.body {
                    let isFull = body.withLock { body in
                        body.writeImmutableBuffer(part.prefix(Self.maximumByteCount - body.readableBytes))
                        return body.readableBytes >= Self.maximumByteCount
                    }
                    if isFull { return }
                }
            }
            let timeout = BlobContext().wake(after: Self.bodyTimeout, BlobWaker { task.cancel() })
            _ = await withTaskCancellationHandler {
                await task.result
            } onCancel: {
                task.cancel()
            }
            timeout.cancel()
            (self.status, self.headers, self.body) = (response.status, response.headers, body.withLock { $0 })
        }
    }

    extension ByteBuffer {
        fileprivate func prefix(_ byteCount: Int) -> ByteBuffer {
            self.getSlice(at: self.readerIndex, length: min(byteCount, self.readableBytes)) ?? ByteBuffer()
        }
    }
#endif
