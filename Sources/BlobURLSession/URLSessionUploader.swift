public import BlobStreams
public import Foundation

/// Uploads sources as streams through a `URLSession` of its own. Success means that all bytes were sent.
///
/// ```swift
/// let (answer, response) = try await URLSessionUploader().upload(source, with: request)
/// ```
///
/// A body of known length is sent with `Content-Length`. On Linux, `URLSession` sends streams only in chunks
/// (`Transfer-Encoding: chunked`), so only bodies of at most 64 KiB, which are read before they are sent, have a
/// `Content-Length`. On Linux, all sessions of a process also share one queue, on which longer bodies are read. While a
/// source has no bytes available, every transfer of the process waits, so set an `idleLimit` in the context of such a
/// source.
///
/// - Warning: On Linux, with Swift 6.3 and earlier, some responses end the process: a truncated head, a status line
///   followed only by the end of the connection, and a chunked response with a trailer
///   (github.com/swiftlang/swift-corelibs-foundation/issues/5285, fixed by pull request 5286). Also, while a server
///   prepares its response, `URLSession` keeps one core busy. Code above the session cannot prevent either problem.
///
/// `BlobUploader` of `BlobTransfer` has none of these faults on any platform with libcurl.
///
/// To authenticate, add an `Authorization` header to the request. Challenges are not answered; the response is then
/// 401.
public final class URLSessionUploader: Sendable {
    /// The default limit for the body of a response: 1 MiB.
    public static let defaultMaximumResponseByteCount = 1 << 20

    private let session: URLSession
    private let delegate = UploadDelegate()
    private let mode: BlobStreamMode
    private let maximumResponseByteCount: Int
    private let mediaType: String?

    /// Creates an uploader, which keeps and reuses connections for as long as it exists.
    ///
    /// - Parameters:
    ///   - configuration: The configuration, copied without its `urlCache` and without additional headers that frame a
    ///     body.
    ///   - mode: The mode for reading sources; see ``BlobUploadBody``.
    ///   - maximumResponseByteCount: The maximum length of a response body in bytes, at least 0.
    public init(
        configuration: URLSessionConfiguration = .default, mode: BlobStreamMode = .synchronous,
        maximumResponseByteCount: Int = URLSessionUploader.defaultMaximumResponseByteCount
    ) {
        precondition(maximumResponseByteCount >= 0, "The limit must not be negative.")
        let headers = configuration.httpAdditionalHeaders ?? [:]
        func isCalled(_ names: [String]) -> ((key: AnyHashable, value: Any)) -> Bool {
            { header in names.contains { $0.caseInsensitiveCompare("\(header.key)") == .orderedSame } }
        }
        // Set on each request, which would otherwise override it with a default.
        self.mediaType = headers.first(where: isCalled(["Content-Type"])).map { "\($0.value)" }
        let configuration = configuration.copy() as? URLSessionConfiguration ?? configuration
        let replaced = BlobUploadBody.framingHeaders + ["Content-Type"]
        configuration.httpAdditionalHeaders = headers.filter { !isCalled(replaced)($0) }
        // Uploads do not need a cache, and Linux crashes if a task is cancelled during a query of its cache.
        configuration.urlCache = nil
        self.session = URLSession(configuration: configuration, delegate: self.delegate, delegateQueue: nil)
        self.mode = mode
        self.maximumResponseByteCount = maximumResponseByteCount
    }

    // Until then, the session retains its delegate.
    deinit { self.session.finishTasksAndInvalidate() }

    /// Sends all bytes of `source` as the body of `request`.
    ///
    /// Cancelling the task or the context ends the upload at once, even while the source has no bytes available. The
    /// context's `deadline` applies to the whole upload, and its `idleLimit` to each step of the source. The request's
    /// `timeoutInterval` applies to the server.
    ///
    /// - Parameters:
    ///   - source: The source to send. ``BlobUploadBody`` states when it must be `repeatable`.
    ///   - request: A PUT, POST or other method with a body; see ``BlobUploadBody/prepare(_:)`` for its headers.
    ///   - context: The context of the upload.
    ///   - onProgress: Called with the progress on the reading thread.
    /// - Returns: The body of the response and the response, regardless of its status: 401, 413 and 500 are responses,
    ///   and so are redirections, of which only 303 is followed. A status from 200 to 299 means that the whole body was
    ///   sent.
    /// - Throws: ``BlobError``: the errors of ``BlobUploadBody/prepare(_:)`` and ``BlobUploadBody/finish(_:error:)``,
    ///   and ``BlobError/Code/limitExceeded`` if the response exceeds its limit.
    public func upload(
        _ source: any BlobInputStreamDataSource, with request: URLRequest, context: BlobContext = BlobContext(),
        onProgress: BlobUploadBody.OnProgress? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let body = BlobUploadBody(source, mode: self.mode, context: context, onProgress: onProgress)
        let upload = Upload(body, maximumResponseByteCount: self.maximumResponseByteCount)
        var request = request
        if let mediaType, request.value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(mediaType, forHTTPHeaderField: "Content-Type")
        }
        return try await withTaskCancellationHandler { [request] in
            try await withCheckedThrowingContinuation { continuation in
                upload.begin(continuation, deadline: context.deadline)
                // The source may block. On Linux, the session may also block while another upload waits for its source.
                BlockingPool.reads.run { self.start(upload, request) }
            }
        } onCancel: {
            body.cancel()
        }
    }

    private func start(_ upload: Upload, _ request: URLRequest) {
        do {
            let request = try upload.body.prepare(request)
            guard let data = try upload.body.wholeBody(ofAtMost: Self.maximumWholeBodyByteCount) else {
                return self.begin(self.session.uploadTask(withStreamedRequest: request), for: upload)
            }
            // If sent again, data would continue where it stopped, whereas a stream starts again.
            upload.setRestart { self.begin(self.session.uploadTask(withStreamedRequest: request), for: upload) }
            self.begin(self.session.uploadTask(with: request, from: data), for: upload)
        } catch {
            upload.finish(.failure(error))
        }
    }

    private func begin(_ task: URLSessionTask, for upload: Upload) {
        self.delegate.add(upload, for: task)
        upload.start(task)
    }
}

/// An upload in progress, which receives the session's events and resumes the caller.
final class Upload: Sendable {
    typealias Outcome = (Data, HTTPURLResponse)

    private struct State {
        var continuation: CheckedContinuation<Outcome, any Error>?
        var task: URLSessionTask?
        var data = Data()
        var registration: BlobRegistration?
        var timer: DispatchWorkItem?
        var restart: (@Sendable () -> Void)?
    }

    let body: BlobUploadBody
    private let maximumResponseByteCount: Int
    private let state = Locked(State())

    init(_ body: BlobUploadBody, maximumResponseByteCount: Int) {
        self.body = body
        self.maximumResponseByteCount = maximumResponseByteCount
    }

    /// Begins the upload. Call this method first, and only once.
    func begin(_ continuation: CheckedContinuation<Outcome, any Error>, deadline: ContinuousClock.Instant?) {
        self.state.withLock { $0.continuation = continuation }
        let registration = self.body.onCancel { [weak self] in
            self?.finish(.failure(BlobError(.cancelled, "The upload was cancelled.", operation: "write")))
        }
        let timer = deadline.map { deadline in
            let timer = DispatchWorkItem { [weak self] in
                self?.finish(
                    .failure(BlobError(.timedOut, "The deadline of the upload has passed.", operation: "write")))
            }
            let interval = max(.zero, deadline - .now).timeInterval
            DispatchQueue.global().asyncAfter(deadline: .now() + interval, execute: timer)
            return timer
        }
        let isOver = self.state.withLock { state in
            if state.continuation != nil { (state.registration, state.timer) = (registration, timer) }
            return state.continuation == nil
        }
        if isOver { timer?.cancel() }
    }

    /// Resumes the task, unless the upload is already over.
    func start(_ task: URLSessionTask) {
        let isOver = self.state.withLock { state in
            state.task = task
            return state.continuation == nil
        }
        if isOver { Self.cancel(task) } else { task.resume() }
    }

    /// Sets the closure that sends the body again.
    ///
    /// - Parameter restart: Starts another task for a body that was sent as data and must be sent again.
    func setRestart(_ restart: @escaping @Sendable () -> Void) {
        self.state.withLock { state in
            if state.continuation != nil { state.restart = restart }
        }
    }

    // MARK: Events of the session

    /// Called when the body is needed again; returns true if another task sends it, which ends this task.
    func restartIfPossible() -> Bool {
        let (task, restart) = self.state.withLock { state in
            defer { state.restart = nil }
            return (state.restart == nil ? nil : state.task, state.restart)
        }
        guard let restart else { return false }
        if let task { Self.cancel(task) }
        BlockingPool.reads.run(restart)
        return true
    }

    /// Called when a response begins. Any earlier response was a challenge, whose body is discarded.
    func receiveResponse() { self.state.withLock { $0.data = Data() } }

    func receive(_ data: Data) {
        let fits = self.state.withLock { state in
            guard state.data.count + data.count <= self.maximumResponseByteCount else { return false }
            state.data.append(data)
            return true
        }
        guard !fits else { return }
        self.finish(
            .failure(
                BlobError(
                    .limitExceeded, "The response is longer than the limit of \(self.maximumResponseByteCount) bytes.",
                    operation: "write")))
    }

    func complete(_ response: URLResponse?, _ error: (any Error)?) {
        let data = self.state.withLock { state in
            state.task = nil  // There is nothing left to cancel.
            return state.data
        }
        self.finish(
            Result { () throws(BlobError) -> Outcome in (data, try self.body.finish(response, error: error)) })
    }

    /// Resumes the caller on the first call only. After a failure, cancels the body and the task.
    func finish(_ result: Result<Outcome, BlobError>) {
        let state = self.state.withLock { state in
            defer { state = State() }
            return state
        }
        guard let continuation = state.continuation else { return }
        state.registration?.cancel()
        state.timer?.cancel()
        if case .failure = result {
            self.body.cancel()
            if let task = state.task { Self.cancel(task) }
        }
        continuation.resume(with: result.mapError { $0 })
    }

    /// Cancels a task on another thread, because `cancel` waits for reads of the session, which may be on this thread.
    private static func cancel(_ task: URLSessionTask) { BlockingPool.openings.run { task.cancel() } }
}

/// Forwards the events of a session to the uploads of its tasks.
final class UploadDelegate: NSObject, URLSessionDataDelegate, Sendable {
    private let uploads = Locked<[Int: Upload]>([:])

    func add(_ upload: Upload, for task: URLSessionTask) {
        self.uploads.withLock { $0[task.taskIdentifier] = upload }
    }

    private func upload(of task: URLSessionTask) -> Upload? { self.uploads.withLock { $0[task.taskIdentifier] } }

    func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) {
        guard let upload = self.upload(of: task) else { return completionHandler(nil) }
        guard upload.restartIfPossible() else { return completionHandler(upload.body.makeStream()) }
        self.uploads.withLock { $0[task.taskIdentifier] = nil }
        completionHandler(nil)
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) {
        completionHandler(self.upload(of: task)?.body.redirection(response, to: request))
    }

    func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) {
        guard let body = self.upload(of: task)?.body else { return completionHandler(.performDefaultHandling, nil) }
        let (disposition, credential) = body.answer(to: challenge)
        completionHandler(disposition, credential)
    }

    func urlSession(
        _ session: URLSession, dataTask: URLSessionDataTask, didReceive response: URLResponse,
        completionHandler: @escaping @Sendable (URLSession.ResponseDisposition) -> Void
    ) {
        self.upload(of: dataTask)?.receiveResponse()
        completionHandler(.allow)
    }

    func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.upload(of: dataTask)?.receive(data)
    }

    func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        let upload = self.uploads.withLock { $0.removeValue(forKey: task.taskIdentifier) }
        upload?.complete(task.response, error)
    }
}
