public import BlobStreams
import Foundation

/// The body of one upload through a `URLSession` and a delegate of your own; ``URLSessionUploader`` provides both.
///
/// Create one body for each task, keep it while the task runs, and call its methods from the delegate:
///
/// ```swift
/// let (session, body) = (URLSession(configuration: .default), BlobUploadBody(source))
/// let task = session.uploadTask(withStreamedRequest: try body.prepare(request))
///
/// // needNewBodyStream:           completionHandler(body.makeStream())
/// // willPerformHTTPRedirection:  completionHandler(body.redirection(response, to: newRequest))
/// // didReceive challenge:        let answer = body.answer(to: challenge, with: credential)
/// // didCompleteWithError:        let response = try body.finish(task.response, error: error)
/// ```
///
/// Each method prevents the loss of a body, in particular on Linux. There, `URLSession` continues on another connection
/// or after a redirection without the body, waits forever for the response to a challenge, hides the error of a stream,
/// and treats a response before the end of the body as success. ``URLSessionUploader`` lists the faults that no body
/// can prevent: on Linux, some responses end the process.
public final class BlobUploadBody: Sendable {
    /// The progress of reading the body: the offset of the next byte, and the byte count if it is known.
    ///
    /// The offset restarts at 0 if the body is sent again. The closure is called on the reading thread, so it must
    /// return quickly. A byte that was read has been handed to the session, but its arrival is not yet confirmed.
    public typealias OnProgress = @Sendable (_ byteOffset: Int64, _ byteCount: Int64?) -> Void

    /// The media type of a body if neither the request nor the source specifies one (RFC 9110, section 8.3).
    public static let defaultMediaType = "application/octet-stream"

    private struct State {
        var stream: (state: BlobObservable<BlobStreamState>, cancellation: BlobCancellation)?
        var observation: BlobRegistration?
        var hasAuthenticated = false
        var hasDeclined = false
        var byteCount: Int64?
    }

    private let source: any BlobInputStreamDataSource
    private let mode: BlobStreamMode
    private let context: BlobContext
    private let onProgress: OnProgress?
    private let state = Locked(State())

    /// Creates the body of one task.
    ///
    /// - Parameters:
    ///   - source: The source to send. It must be `repeatable` to survive an authentication challenge or a failed
    ///     connection, which are errors otherwise.
    ///   - mode: The mode of the stream: the session reads the source (`.synchronous`), or a thread reads it ahead
    ///     (`.asynchronous`).
    ///   - context: The context for reading. Cancelling it ends the reading and therefore the task.
    ///   - onProgress: Called with the progress.
    public init(
        _ source: any BlobInputStreamDataSource, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext(), onProgress: OnProgress? = nil
    ) {
        self.source = source
        self.mode = mode
        self.context = context.makeChild()
        self.onProgress = onProgress
    }

    deinit { self.cancel() }

    /// Returns the request with the header fields for a body that is a stream.
    ///
    /// Removes `Content-Length` and `Transfer-Encoding`, because the session adds its own without checking. Sets a
    /// missing `Content-Type` to the source's media type or ``defaultMediaType``, because Foundation would declare a
    /// form. Sets `Content-Length` if the byte count is known, except on Linux, where the session always sends chunks.
    /// Queries the info of the source, which may block.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a URL that is not HTTP and for the methods GET and HEAD, which
    ///   have no body; the errors of the source, before anything is sent.
    public func prepare(_ request: URLRequest) throws(BlobError) -> URLRequest {
        guard let scheme = request.url?.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
            throw BlobError(.invalidArgument, "Uploads need an http or https URL.", operation: "write")
        }
        if let method = request.httpMethod, ["GET", "HEAD"].contains(method) {
            throw BlobError(.invalidArgument, "\(method) cannot upload: use PUT or POST.", operation: "write")
        }
        let info = try self.source.info(self.context)
        var request = request
        request.httpBody = nil
        request.httpBodyStream = nil
        for header in Self.framingHeaders { request.setValue(nil, forHTTPHeaderField: header) }
        if request.value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(info.mediaType ?? Self.defaultMediaType, forHTTPHeaderField: "Content-Type")
        }
        if Self.streamsHaveLengths, let byteCount = info.byteCount {
            request.setValue(String(byteCount), forHTTPHeaderField: "Content-Length")
        }
        self.state.withLock { $0.byteCount = info.byteCount }
        return request
    }

    /// Returns all bytes of the source; nil if they exceed `limit` or if their number is unknown.
    ///
    /// Call ``prepare(_:)`` first.
    ///
    /// - Throws: The error of the source.
    func wholeBody(ofAtMost limit: Int) throws(BlobError) -> Data? {
        guard let byteCount = self.state.withLock({ $0.byteCount }), byteCount <= limit else { return nil }
        let stream = self.makeStream()
        stream.open()
        // Leaves room for one more byte, so that the last read reaches the end, where the source has verified its
        // bytes.
        let room = Int(byteCount) + 1
        let buffer = UnsafeMutablePointer<UInt8>.allocate(capacity: room)
        defer { buffer.deallocate() }
        var count = 0
        while case let readCount = stream.read(buffer + count, maxLength: room - count), readCount > 0 {
            count += readCount
        }
        if let error = stream.state.value.error { throw error }
        return Data(bytes: buffer, count: count)
    }

    /// The headers that frame a body, which only the session sets.
    static let framingHeaders = ["Content-Length", "Transfer-Encoding"]

    /// Creates a new stream from the start of the source. The previous stream ends with an error.
    ///
    /// Call this method for each `urlSession(_:task:needNewBodyStream:)`, and for `httpBodyStream`.
    public func makeStream() -> BlobInputStream {
        let context = self.context.makeChild()
        let stream = BlobInputStream(self.source, mode: self.mode, context: context)
        let observation = self.onProgress.map { onProgress in
            stream.state.observe(\.progress) { change in
                if let progress = change.new { onProgress(progress.byteOffset, progress.byteCount) }
            }
        }
        let former = self.state.withLock { state in
            defer { (state.stream, state.observation) = ((stream.state, context.cancellation), observation) }
            return state
        }
        former.observation?.cancel()
        // Not closed, because a session that still reads the stream would mistake this for its end. Cancelling the
        // stream releases as much.
        former.stream?.cancellation.cancel()
        return stream
    }

    /// Returns the request that follows a redirection; nil to use the redirection itself as the response.
    ///
    /// Only 303 is followed, as a GET, because it means that the body was accepted. All other redirections would need
    /// the body again or lose it: upload again to the `Location` with a new body. After ``answer(to:with:)`` has
    /// returned a credential, 303 is not followed either, because Linux would repeat the first request with an empty
    /// body. `Authorization` and `Cookie` are not sent to another origin.
    public func redirection(_ response: HTTPURLResponse, to newRequest: URLRequest) -> URLRequest? {
        guard response.statusCode == 303, !self.state.withLock({ $0.hasAuthenticated }) else { return nil }
        var request = newRequest
        request.httpMethod = "GET"
        request.httpBody = nil
        request.httpBodyStream = nil
        let isSameHost = response.url?.origin == newRequest.url?.origin
        for header in ["Content-Type"] + (isSameHost ? [] : ["Authorization", "Cookie"]) {
            request.setValue(nil, forHTTPHeaderField: header)
        }
        return request
    }

    /// Returns the response to an authentication challenge.
    ///
    /// - Parameters:
    ///   - challenge: The challenge of the server.
    ///   - credential: A credential for Basic authentication, tried once. The body is then sent again; an
    ///     `Authorization` header in the request avoids this.
    /// - Returns: The disposition and the credential for the session. Without a credential, the response is 401.
    public func answer(
        to challenge: URLAuthenticationChallenge, with credential: URLCredential? = nil
    ) -> (URLSession.AuthChallengeDisposition, URLCredential?) {
        let space = challenge.protectionSpace
        guard space.authenticationMethod == NSURLAuthenticationMethodHTTPBasic, !space.isProxy(), let credential,
            challenge.previousFailureCount == 0
        else {
            self.state.withLock { $0.hasDeclined = true }
            return (URLSession.AuthChallengeDisposition.decliningWithResponse, nil)
        }
        self.state.withLock { $0.hasAuthenticated = true }
        return (.useCredential, credential)
    }

    /// Returns the response to an upload whose task is complete, or throws its error. Ends the stream.
    ///
    /// - Parameters:
    ///   - response: The response of the server; nil if none was received.
    ///   - error: The error of the session. An error of the stream takes precedence.
    /// - Returns: The response, regardless of its status. A status from 200 to 299 means that the whole body was handed
    ///   to the session.
    /// - Throws: The error of reading the source; ``BlobError/Code/truncated`` if the server reported success before
    ///   the end of the body; ``BlobError/Code/unavailable``, ``BlobError/Code/timedOut``, ``BlobError/Code/cancelled``
    ///   or ``BlobError/Code/io`` with the `URLError` as the cause. The offset of the error is the maximum number of
    ///   bytes that were handed to the session.
    public func finish(_ response: URLResponse?, error: (any Error)?) throws(BlobError) -> HTTPURLResponse {
        let (stream, hasDeclined) = self.state.withLock { ($0.stream, $0.hasDeclined) }
        let state = stream?.state.value ?? BlobStreamState()
        stream?.cancellation.cancel()
        if let failure = state.error { throw failure }
        if hasDeclined, let response = response as? HTTPURLResponse, response.statusCode == 401 { return response }
        let url = (response?.url ?? (error as? URLError)?.failingURL)?.printable
        if let error { throw BlobError(ofTransport: error, to: url, at: state.byteOffset) }
        guard let response = response as? HTTPURLResponse else {
            throw BlobError(
                .unavailable, "The server sent no response.", operation: "write", locator: url,
                byteOffset: state.byteOffset)
        }
        guard !(200...299).contains(response.statusCode) || state.isAtEnd else {
            let size = state.byteCount.map { "\($0) bytes" } ?? "an unknown number of bytes"
            throw BlobError(
                .truncated,
                "The server answered \(response.statusCode) after only \(state.byteOffset) of \(size) had been read.",
                operation: "write", locator: url, byteOffset: state.byteOffset)
        }
        return response
    }

    /// Ends the reading permanently, even while it waits; later streams of this body fail. Also cancel the task.
    ///
    /// Cancel the task on another thread, and in a session whose configuration has no `urlCache`. On Linux, the task's
    /// `cancel()` waits for a read in progress, and crashes if the task ends during a query of the cache.
    public func cancel() { self.context.cancellation.cancel() }

    /// Calls `handler` once when this body or its context is cancelled.
    func onCancel(_ handler: @escaping @Sendable () -> Void) -> BlobRegistration {
        self.context.cancellation.onCancel(handler)
    }
}

extension BlobStreamState {
    fileprivate struct Progress: Equatable {
        let byteOffset: Int64
        let byteCount: Int64?
    }

    fileprivate var progress: Progress { Progress(byteOffset: self.byteOffset, byteCount: self.byteCount) }
}

extension BlobError {
    /// Creates an error that corresponds to an error of a session, which becomes its cause.
    init(ofTransport error: any Error, to url: String?, at byteOffset: Int64) {
        let number = (error as? URLError)?.code
        let code: Code =
            switch number {
            case .timedOut: .timedOut
            case .cancelled: .cancelled
            case .badURL, .unsupportedURL: .invalidArgument
            case .cannotFindHost, .cannotConnectToHost, .networkConnectionLost, .dnsLookupFailed,
                .notConnectedToInternet, .badServerResponse:
                .unavailable
            // Linux reports all other errors as unknown. After bytes were sent, such an error means that the connection
            // failed.
            case .unknown where byteOffset > 0: .unavailable
            default: .io
            }
        let text = error.localizedDescription
        self.init(
            code, "The upload failed: \(text)\(number.map { " (URLError \($0.rawValue))" } ?? "").", operation: "write",
            locator: url, byteOffset: byteOffset, cause: error)
    }
}

extension URL {
    /// The URL, with `***` in place of possible secrets.
    var printable: String { printableURL(self.absoluteString) }

    /// The origin of the URL (RFC 6454): its scheme, host and port.
    var origin: String? {
        guard let scheme = self.scheme?.lowercased(), let host = self.host?.lowercased() else { return nil }
        return "\(scheme)://\(host):\(self.port ?? (scheme == "https" ? 443 : 80))"
    }
}
