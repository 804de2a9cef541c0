#if AsyncHTTPClient
public import AsyncHTTPClient
public import BlobCore
internal import BlobPlatform
public import NIOCore
public import NIOHTTP1
internal import NIOPosix

extension HTTPClient {
    /// Sends a source as the body of a request, and returns the response of a server that accepted all of it.
    ///
    /// Returns when the head of the response has arrived and the source has ended; the body of the response may still
    /// be arriving. A status of 307 or 308 is followed with the same request and a fresh body, if the source is
    /// repeatable and its content has not changed; other redirections are left to the configuration of the client.
    /// Another origin receives all header fields except `Authorization`, `Cookie` and `Proxy-Authorization`.
    ///
    /// The idle limit of the context applies to the source; the connection has the timeouts of the client's
    /// configuration. Cancelling the task or the context ends the request and stops reading.
    ///
    /// ```swift
    /// var request = HTTPClientRequest(url: "https://example.com/photos/1")
    /// request.method = .PUT
    /// let response = try await client.upload(source, as: request)
    /// ```
    ///
    /// - Parameters:
    ///   - source: The source. If it may block, threads of a pool read it ahead of the connection.
    ///   - request: The request, whose body is replaced. If it has no `Content-Type`, the media type of the source is
    ///     added.
    ///   - maximumRedirectionCount: The maximum number of redirections that are followed, at least 0.
    ///   - followingOtherOrigins: True to follow redirections to other schemes, hosts and ports, but never from HTTPS
    ///     to HTTP.
    ///   - context: The context of the upload.
    /// - Returns: A response with a status of 200 to 299.
    /// - Throws: The error of the source before any other; ``BlobError/Code/refused`` for any other status, with an
    ///   ``HTTPClientRefusal`` as the cause; ``BlobError/Code/changed`` if the content changed before a redirection;
    ///   ``BlobError/Code/unavailable`` if no connection can be made, ``BlobError/Code/io`` if it breaks;
    ///   ``BlobError/Code/corrupted`` for a malformed response; ``BlobError/Code/invalidArgument``,
    ///   ``BlobError/Code/timedOut``, ``BlobError/Code/cancelled``. An error is transient if repeating the request may
    ///   help and cannot take effect twice.
    public func upload(
        _ source: any BlobInputStreamDataSource, as request: HTTPClientRequest, maximumRedirectionCount: Int = 5,
        followingOtherOrigins: Bool = false, context: BlobContext = BlobContext()
    ) async throws(BlobError) -> HTTPClientResponse {
        let upload = SourceUpload(
            client: self, source: source, followsOtherOrigins: followingOtherOrigins, context: context)
        return try await upload.runEndingInTime(request, maximumRedirectionCount)
    }
}

/// An upload by async-http-client, with the redirections that it follows.
struct SourceUpload: Sendable {
    let client: HTTPClient
    let source: any BlobInputStreamDataSource
    let followsOtherOrigins: Bool
    let context: BlobContext

    /// Sends the request and the requests to which it is redirected, in a task that ends with the caller's task, with
    /// the cancellation of the context, and at its deadline.
    func runEndingInTime(
        _ request: HTTPClientRequest, _ maximumRedirectionCount: Int
    ) async throws(BlobError) -> HTTPClientResponse {
        let task = Task { () -> Result<HTTPClientResponse, BlobError> in
            do throws(BlobError) {
                return .success(try await self.run(request, maximumRedirectionCount))
            } catch {
                return .failure(error)
            }
        }
        let cancellation = self.context.cancellation.onCancel { task.cancel() }
        let deadline = self.context.deadline.map { instant in
            self.context.wake(after: ContinuousClock.now.duration(to: instant), BlobWaker { task.cancel() })
        }
        defer {
            cancellation.cancel()
            deadline?.cancel()
        }
        let result = await withTaskCancellationHandler {
            await task.value
        } onCancel: {
            task.cancel()
        }
        // The deadline ends the task like a cancellation.
        if case .failure(let error) = result, error.code == .cancelled { try self.context.check() }
        return try result.get()
    }

    private func run(
        _ request: HTTPClientRequest, _ maximumRedirectionCount: Int
    ) async throws(BlobError) -> HTTPClientResponse {
        var (request, rest, validator) = (request, maximumRedirectionCount, BlobValidator?.none)
        while true {
            let reading = try await BodyReading(self.source, matching: validator, self.context)
            // All requests must send the content of the first.
            validator = validator ?? reading.info.validator
            defer { reading.stop() }
            let response = try await self.execute(request, reading)
            if (200..<300).contains(response.status.code) { return response }
            guard rest > 0, self.source.traits.contains(.repeatable),
                let next = request.redirected(by: response, toOtherOrigins: self.followsOtherOrigins)
            else { throw await self.refusal(response, of: request) }
            (request, rest) = (next, rest - 1)
        }
    }

    /// Sends one request. If it succeeds, the source has ended; any other response may have arrived earlier.
    private func execute(
        _ request: HTTPClientRequest, _ reading: BodyReading
    ) async throws(BlobError) -> HTTPClientResponse {
        var request = request
        request.body = reading.body
        if let type = reading.info.mediaType, !request.headers.contains(name: "Content-Type") {
            request.headers.add(name: "Content-Type", value: type)
        }
        do {
            let response = try await self.client.execute(request, deadline: .distantFuture)
            if (200..<300).contains(response.status.code) { try await reading.waitForEnd() }
            return response
        } catch {
            if let failure = reading.failure, failure.operation != "write" { throw failure }
            throw BlobError(error, of: request)
        }
    }

    private func refusal(_ response: HTTPClientResponse, of request: HTTPClientRequest) async -> BlobError {
        let refusal = await HTTPClientRefusal(response)
        let status = Int(response.status.code)
        let message = BlobError.refusalMessage(
            status, response.status.reasonPhrase, location: response.headers.first(name: "Location"),
            refusal.body.readableBytesView)
        return BlobError(
            .refused, message, operation: "write", locator: request.printableURL,
            isTransient: BlobRetry.isTransient(status, isRepeatable: request.method == .PUT), cause: refusal)
    }
}

extension HTTPClientRequest {
    /// The header fields with credentials, which are sent to one origin only.
    private static let secrets = ["Authorization", "Cookie", "Proxy-Authorization"]

    /// Returns this request for the URL to which a response redirects; nil if it must not be sent there.
    ///
    /// Only 307 and 308 preserve the method and the body (RFC 9110, sections 15.4.8 and 15.4.9).
    func redirected(by response: HTTPClientResponse, toOtherOrigins: Bool) -> HTTPClientRequest? {
        guard response.status == .temporaryRedirect || response.status == .permanentRedirect,
            // Bytes that are not UTF-8 are lost, which would change the path.
            let location = response.headers.first(name: "Location"), !location.contains("\u{FFFD}"),
            let url = URL(string: self.url),
            let target = URL(string: location, relativeTo: url)?.absoluteURL
        else { return nil }
        var request = self
        request.url = target.absoluteString
        guard Self.origin(of: target) != Self.origin(of: url) else { return request }
        let isSafe = target.scheme?.lowercased() == "https" || url.scheme?.lowercased() == "http"
        guard toOtherOrigins, isSafe else { return nil }
        for name in Self.secrets { request.headers.remove(name: name) }
        return request
    }

    /// Scheme, host and port of a URL (RFC 6454, section 4).
    private static func origin(of url: URL) -> [String?] {
        let scheme = url.scheme?.lowercased()
        return [scheme, url.host()?.lowercased(), "\(url.port ?? (scheme == "https" ? 443 : 80))"]
    }

    /// The URL in printable form.
    var printableURL: String { BlobCore.printableURL(self.url) }
}

/// The cause of ``BlobError/Code/refused``, with the response of the server.
public struct HTTPClientRefusal: Error, CustomStringConvertible, CustomReflectable {
    /// The maximum number of bytes of the body that are stored, enough for an error message.
    private static let maximumByteCount = 64 * 1024

    /// The time limit for the body: a refusal whose body stalls is still a refusal.
    private static let bodyTimeout = Duration.seconds(5)

    /// The status of the response.
    public let status: HTTPResponseStatus

    /// The header fields of the response.
    public let headers: HTTPHeaders

    /// The beginning of the body: at most 64 KiB, and only bytes that arrived within five seconds.
    public let body: ByteBuffer

    /// The status. Omits everything else that the server sent, such as cookies.
    public var description: String { "The server answered \(self.status.code)." }

    /// A mirror that shows only the description.
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

extension BlobError {
    /// The errors of an unreachable peer or network.
    private static let unreachable: Set = [ECONNREFUSED, EHOSTUNREACH, ENETUNREACH, ENETDOWN]

    /// Creates the error of a request from an error of async-http-client or NIO, which becomes the cause.
    init(_ error: any Error, of request: HTTPClientRequest) {
        if let error = error as? BlobError {
            self = error
            if error.operation == "write" { self.locator = error.locator ?? request.printableURL }
            return
        }
        // A request with this method has no effect twice.
        let isRepeatable = request.method == .PUT
        let (code, message, isTransient) = Self.kind(of: error, isRepeatable)
        self.init(
            code, "\(message): \(BlobError.text(of: error)).", operation: "write", locator: request.printableURL,
            isTransient: isTransient,
            cause: error)
        if let error = error as? IOError { self.systemErrorNumber = error.errnoCode }
    }

    private static func kind(of error: any Error, _ isRepeatable: Bool) -> (
        Code, message: String, isTransient: Bool
    ) {
        switch error {
        case is CancellationError: (.cancelled, "The request was cancelled", false)
        case is NIOConnectionError: (.unavailable, "Could not connect", true)
        case let error as IOError where self.unreachable.contains(error.errnoCode):
            (.unavailable, "Could not connect", true)
        case is HTTPParserError: (.corrupted, "The response is not valid HTTP", false)
        case let error as HTTPClientError: self.kind(of: error, isRepeatable)
        default: (.io, "The connection was lost", isRepeatable)
        }
    }

    private static func kind(
        of error: HTTPClientError, _ isRepeatable: Bool
    ) -> (Code, message: String, isTransient: Bool) {
        switch error {
        case .cancelled, .requestStreamCancelled: (.cancelled, "The request was cancelled", false)
        case .connectTimeout, .socksHandshakeTimeout, .httpProxyHandshakeTimeout, .tlsHandshakeTimeout,
            .getConnectionFromPoolTimeout:
            (.timedOut, "Could not connect", true)
        case .readTimeout, .writeTimeout, .deadlineExceeded: (.timedOut, "The request timed out", isRepeatable)
        case .invalidURL, .emptyHost, .emptyScheme, .missingSocketPath, .incompatibleHeaders, .traceRequestWithBody,
            .contentLengthMissing, .identityCodingIncorrectlyPresent, .chunkedSpecifiedMultipleTimes:
            (.invalidArgument, "The request is not valid", false)
        case .redirectLimitReached, .redirectCycleDetected:
            (.refused, "The server redirects too often or in a cycle", false)
        case .alreadyShutdown: (.closed, "The client was shut down", false)
        default: (.io, "The request failed", isRepeatable)
        }
    }
}
#endif
