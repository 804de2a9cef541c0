public import BlobCore
public import BlobReceiving
internal import Foundation
internal import HTTPTypes
public import Hummingbird
internal import NIOCore
public import NIOPosix

extension RequestService {
    /// Returns the response to a request of Hummingbird.
    ///
    /// The body of the request is received while it arrives, one buffer at a time: while the service is busy, no more
    /// is read from the connection. The body of the response is read from its source only as fast as the client takes
    /// it. Errors of the service become responses. A request whose connection ends, or whose task is cancelled, is
    /// abandoned.
    ///
    /// - Parameter threadPool: The threads for the calls of the service, which may block.
    /// - Throws: The errors of the connection.
    public func response(to request: Request, threadPool: NIOThreadPool = .singleton) async throws -> Response {
        let isHead = request.method == .head
        do {
            let answer = try await RequestWork(threadPool).answer(request, by: self)
            return try await Response(answer, isHead: isHead)
        } catch let error as BlobError {
            return try await Response(error.answer, isHead: isHead)
        }
    }
}

/// The work for one request, on threads of a pool.
private final class RequestWork: @unchecked Sendable {  // Safe: each job ends before the next one begins.
    private let threadPool: NIOThreadPool
    private var receiver: (any BodyReceiver)?

    init(_ threadPool: NIOThreadPool) { self.threadPool = threadPool }

    func answer(_ request: Request, by service: some RequestService) async throws -> RequestAnswer {
        let head = RequestHead(request)
        do {
            try await self.run { self.receiver = try service.receiver(for: head) }
            var byteCount: Int64 = 0
            for try await buffer in request.body {
                byteCount += Int64(buffer.readableBytes)
                try await self.run { try buffer.withUnsafeReadableBytes { try self.receiver?.receive($0) } }
            }
            // Middleware may replace the body with a stream that ends early, without an error, if the task is cancelled.
            try Task.checkCancellation()
            guard byteCount == head.contentLength ?? byteCount else {
                throw BlobError(.truncated, "The body ended before its stated length.", byteOffset: byteCount)
            }
            return try await withCheckedThrowingContinuation { continuation in
                self.submit { self.receiver?.answer { continuation.resume(with: $0) } }
            }
        } catch {
            // Cancellation prevents the jobs of `runIfActive`, but must not prevent this job.
            await withCheckedContinuation { continuation in
                self.submit {
                    self.receiver?.abandon()
                    continuation.resume()
                }
            }
            throw error
        }
    }

    private func run(_ job: @escaping @Sendable () throws -> Void) async throws {
        try await self.threadPool.runIfActive(job)
    }

    /// Runs a job even if the task is cancelled or the pool has been shut down.
    private func submit(_ job: @escaping @Sendable () -> Void) { self.threadPool.submit { _ in job() } }
}

extension RequestHead {
    fileprivate init(_ request: Request) {
        // Hummingbird keeps the host apart from the other fields.
        let host = request.head.authority.map { [("Host", $0)] } ?? []
        self.init(
            method: request.method.rawValue, target: request.head.path ?? "/",
            fields: host + request.headers.map { ($0.name.rawName, $0.value) })
    }
}

extension Response {
    /// - Throws: ``BlobError`` if the source cannot be opened or its first bytes cannot be read, so that a response with
    ///   another status can be sent.
    fileprivate init(_ answer: RequestAnswer, isHead: Bool) async throws {
        let status = HTTPResponse.Status(integerLiteral: answer.status)
        var body = ResponseBody()
        if !isHead, let source = answer.body {
            let chunks = ChunkIterator(source.chunks().makeAsyncIterator())
            let first = try await chunks.next()
            body = ResponseBody(contentLength: answer.byteCount.map { Int($0) }) { writer in
                var chunk = first
                while let bytes = chunk {
                    try await writer.write(ByteBuffer(bytes: bytes))
                    chunk = try await chunks.next()
                }
                try await writer.finish(nil)
            }
        }
        self.init(status: status, headers: HTTPFields(answer.fields), body: body)
        self.headers[.contentLength] = answer.byteCount.map { String($0) }
        switch status {
        case .noContent, .notModified: self.headers[.contentLength] = nil
        case _ where isHead && answer.byteCount == nil:
            // SwiftNIO sends an empty chunked body, so that the connection cannot be used for another response.
            self.headers[.connection] = "close"
        default: break
        }
    }
}

extension HTTPFields {
    fileprivate init(_ fields: [RequestHead.Field]) {
        self.init(
            fields.compactMap { name, value in HTTPField.Name(name).map { HTTPField(name: $0, value: value) } })
    }
}

/// The chunks of a response.
private final class ChunkIterator: @unchecked Sendable {  // Safe: after the first chunk, only the writer reads it.
    private var chunks: BlobSequence<Data, BlobError>.AsyncIterator

    init(_ chunks: BlobSequence<Data, BlobError>.AsyncIterator) { self.chunks = chunks }

    func next() async throws(BlobError) -> Data? { try await self.chunks.next() }
}
