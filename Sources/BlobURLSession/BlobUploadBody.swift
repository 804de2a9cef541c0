import BlobStreams
import Foundation

/// The body of one upload through a `URLSession` and a delegate of your own; ``BlobUploader`` has both.
///
/// Make one for each task, keep it as long as the task runs, and call its methods from the delegate's:
///
/// ```swift
/// let body = BlobUploadBody(source)
/// let task = session.uploadTask(withStreamedRequest: try body.prepare(request))
///
/// // needNewBodyStream:           completionHandler(body.makeStream())
/// // willPerformHTTPRedirection:  completionHandler(body.redirection(response, to: newRequest))
/// // didReceive challenge:        let answer = body.answer(to: challenge, with: credential)
/// // didCompleteWithError:        let response = try body.confirm(task.response, error: error)
/// ```
///
/// Each of them keeps a body from getting lost, on Linux above all, where `URLSession` goes on with another connection
/// or after a redirection without the body, waits for ever when nobody authenticates, hides why a stream failed, and
/// takes an answer that came before the end of the body for success. What no body can do anything about is with
/// ``BlobUploader``: there are answers that end the process on Linux.
public final class BlobUploadBody: Sendable {
    /// How far the reading of the body is: the offset of the next byte, and the byte count if known.
    ///
    /// Starts again at 0 when the body is sent again. Called on the thread that reads, so it must be quick. A byte that
    /// was read is on its way, and not yet confirmed.
    public typealias OnProgress = @Sendable (_ byteOffset: Int64, _ byteCount: Int64?) -> Void

    /// What a body is called that neither the request nor the source has a media type for (RFC 9110, section 8.3).
    public static let defaultMediaType = "application/octet-stream"

    private struct State {
        var stream: (state: BlobObservable<BlobStreamState>, cancellation: BlobCancellation)?
        var observation: BlobObservation?
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
    ///   - source: What to send. It must be `repeatable` to survive a request for authentication or a connection that
    ///     dies; otherwise these are errors.
    ///   - mode: Where the source is read: by the session (`.synchronous`) or ahead of it, on a thread of its own.
    ///   - context: The terms; cancelling it ends the reading, and with it the task.
    ///   - onProgress: Told of the progress.
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

    /// The request as it must be for a body that is a stream.
    ///
    /// A `Content-Length` and a `Transfer-Encoding` set by hand are taken out, since the session adds its own without
    /// looking; a missing `Content-Type` becomes the source's, or ``defaultMediaType``, since Foundation would call the
    /// body a form. Asks the source for its info, which may block. Where the session sends a known length instead of
    /// chunks, which is not so on Linux, `Content-Length` is the source's.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for a URL that is not HTTP and for the methods GET and HEAD, which
    ///   have no body; and what asking the source throws, before anything is sent.
    public func prepare(_ request: URLRequest) throws(BlobError) -> URLRequest {
        guard let scheme = request.url?.scheme?.lowercased(), ["http", "https"].contains(scheme) else {
            throw BlobError(.invalidArgument, "Uploads need an http or https URL.", operation: .write)
        }
        if let method = request.httpMethod, ["GET", "HEAD"].contains(method) {
            throw BlobError(.invalidArgument, "\(method) cannot upload: use PUT or POST.", operation: .write)
        }
        let info = try self.source.checkedInfo(self.context)
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

    /// All bytes of the source; nil when there are more than `limit`, or nobody knows before they are read.
    ///
    /// To be called behind ``prepare(_:)``.
    ///
    /// - Throws: The error of the source.
    func wholeBody(ofAtMost limit: Int) throws(BlobError) -> Data? {
        guard let byteCount = self.state.withLock({ $0.byteCount }), byteCount <= limit else { return nil }
        let stream = self.makeStream()
        stream.open()
        // With room for one more, so that the last read finds the end, where the source has verified what came.
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

    /// What says where a body ends: the session's to set.
    static let framingHeaders = ["Content-Length", "Transfer-Encoding"]

    /// A new stream from the start of the source; the one before ends with an error.
    ///
    /// For each call of `urlSession(_:task:needNewBodyStream:)`, and for `httpBodyStream`.
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
        // Closing it would be the end to a session that still reads it; this frees as much.
        former.stream?.cancellation.cancel()
        return stream
    }

    /// The request that follows a redirection, or nil not to follow it: then the redirection is the response.
    ///
    /// Only 303 is followed, as a GET: it says that the body was taken. All others would need the body again, or lose
    /// it: upload anew to the `Location`, with a new body. Nor is 303 followed once ``answer(to:with:)`` has given a
    /// credential: Linux would repeat the first request instead, with an empty body. What may hold secrets does not go
    /// to another host.
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

    /// The answer to a server that asks who is there.
    ///
    /// - Parameter credential: For Basic authentication, tried once; the body is then sent again. A header
    ///   `Authorization` from the beginning saves that.
    /// - Returns: Without a credential, what makes 401 the response.
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

    /// Tells what came of the upload, when the task is complete. The stream ends with it.
    ///
    /// - Parameters:
    ///   - response: What the server answered; nil if nothing.
    ///   - error: What the session said; the stream knows better why it failed.
    /// - Returns: The response, whatever its status. With a status of 200 to 299 the whole body was handed over.
    /// - Throws: What reading the source threw; ``BlobError/Code/truncated`` when the server claimed success before the
    ///   end of the body; ``BlobError/Code/unavailable``, ``BlobError/Code/timedOut``,
    ///   ``BlobError/Code/cancelled`` or ``BlobError/Code/io`` with the `URLError` as the cause. The offset is how many
    ///   bytes were handed over at most.
    public func confirm(_ response: URLResponse?, error: (any Error)?) throws(BlobError) -> HTTPURLResponse {
        let (stream, hasDeclined) = self.state.withLock { ($0.stream, $0.hasDeclined) }
        let state = stream?.state.value ?? BlobStreamState()
        stream?.cancellation.cancel()
        if let failure = state.error { throw failure }
        if hasDeclined, let response = response as? HTTPURLResponse, response.statusCode == 401 { return response }
        let url = (response?.url ?? (error as? URLError)?.failingURL)?.withoutSecrets
        if let error { throw BlobError(ofTransport: error, to: url, at: state.byteOffset) }
        guard let response = response as? HTTPURLResponse else {
            throw BlobError(
                .unavailable, "The server gave no response.", operation: .write, locator: url,
                byteOffset: state.byteOffset)
        }
        guard !(200...299).contains(response.statusCode) || state.isAtEnd else {
            let size = state.byteCount.map { "\($0) bytes" } ?? "an unknown number of bytes"
            throw BlobError(
                .truncated,
                "The server answered \(response.statusCode) when \(state.byteOffset) of \(size) were read to be sent.",
                operation: .write, locator: url, byteOffset: state.byteOffset)
        }
        return response
    }

    /// Ends the reading, also while it waits; cancel the task too. For good: later streams of this body fail.
    ///
    /// Cancel the task on another thread, and in a session whose configuration has no `urlCache`: on Linux its `cancel()`
    /// waits for a read that is under way, and crashes when the task ends while the cache is being asked.
    public func cancel() { self.context.cancellation.cancel() }

    /// Calls `handler` once when this body or its context is cancelled.
    func onCancel(_ handler: @escaping @Sendable () -> Void) -> BlobRegistration {
        self.context.onCancel(handler)
    }
}

extension BlobStreamState {
    fileprivate struct Progress: Equatable {
        let byteOffset: Int64
        let byteCount: Int64?
    }

    fileprivate var progress: Progress { Progress(byteOffset: self.byteOffset, byteCount: self.byteCount) }
}
