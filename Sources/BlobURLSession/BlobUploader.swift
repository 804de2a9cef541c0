import BlobStreams
import Foundation

/// Uploads sources through a `URLSession` of its own: bytes stream, and success means that all of them were sent.
///
/// ```swift
/// let (answer, response) = try await BlobUploader().upload(source, with: request)
/// ```
///
/// A body whose length is known is announced with `Content-Length`. On Linux `URLSession` sends streams only in chunks
/// (`Transfer-Encoding: chunked`); there only bodies of at most 64 KiB are announced, which are read before they are
/// sent. All sessions of a process also share one queue there, on which longer bodies are read: while a source has
/// nothing to give, every transfer of the process waits. Give the context of such a source an `idleLimit`.
///
/// - Warning: On Linux some answers end the process, with Swift 6.3 and before: a head that is cut off, a status line
///   alone before the end of the connection, and an answer in chunks with a trailer behind them
///   (github.com/swiftlang/swift-corelibs-foundation/issues/5285, mended by pull request 5286). And while a server
///   thinks about its answer, `URLSession` keeps one core busy. No code above the session can help either; where
///   servers are not trusted, or slow, upload in a process of its own, such as `blob upload`, which has neither fault.
///
/// To authenticate, give the request a header `Authorization`: when the server asks, its 401 is the response.
public final class BlobUploader: Sendable {
    /// How much of a response is kept unless told otherwise: 1 MiB.
    public static let defaultResponseLimit = 1 << 20

    private let session: URLSession
    private let delegate = UploadDelegate()
    private let mode: BlobStreamMode
    private let responseLimit: Int
    private let mediaType: String?

    /// Creates an uploader; connections are kept and used again as long as it lives.
    ///
    /// - Parameters:
    ///   - configuration: Taken as it is now, but for additional headers that say how long a body is.
    ///   - mode: Where sources are read; see ``BlobUploadBody``.
    ///   - responseLimit: The most bytes of a response's body to accept, from 0.
    public init(
        configuration: URLSessionConfiguration = .default, mode: BlobStreamMode = .synchronous,
        responseLimit: Int = BlobUploader.defaultResponseLimit
    ) {
        precondition(responseLimit >= 0, "A limit is not negative.")
        let headers = configuration.httpAdditionalHeaders ?? [:]
        func isCalled(_ names: [String]) -> ((key: AnyHashable, value: Any)) -> Bool {
            { header in names.contains { $0.caseInsensitiveCompare("\(header.key)") == .orderedSame } }
        }
        // Of the request, which would otherwise override it with a default.
        self.mediaType = headers.first(where: isCalled(["Content-Type"])).map { "\($0.value)" }
        let configuration = configuration.copy() as? URLSessionConfiguration ?? configuration
        let replaced = BlobUploadBody.framingHeaders + ["Content-Type"]
        configuration.httpAdditionalHeaders = headers.filter { !isCalled(replaced)($0) }
        // Uploads have no use for one, and Linux crashes when a task is cancelled whose cache is just being asked.
        configuration.urlCache = nil
        self.session = URLSession(configuration: configuration, delegate: self.delegate, delegateQueue: nil)
        self.mode = mode
        self.responseLimit = responseLimit
    }

    // The session holds on to its delegate until then.
    deinit { self.session.finishTasksAndInvalidate() }

    /// Sends all bytes of `source` as the body of `request`.
    ///
    /// Cancelling the task or the context ends it at once, also while the source has nothing to give. The `deadline` of
    /// the context is that of the whole upload, its `idleLimit` that of a step of the source; for the server it is the
    /// `timeoutInterval` of the request.
    ///
    /// - Parameters:
    ///   - source: What to send; see ``BlobUploadBody`` for when it must be `repeatable`.
    ///   - request: A PUT, POST or other method with a body; see ``BlobUploadBody/prepare(_:)`` for its headers.
    ///   - context: The terms.
    ///   - onProgress: Told of the progress, on the thread that reads.
    /// - Returns: The body of the response and the response, whatever its status: 401, 413 and 500 are responses, and
    ///   so are redirections, of which only 303 is followed. With a status of 200 to 299 the whole body was sent.
    /// - Throws: ``BlobError``: what ``BlobUploadBody/prepare(_:)`` and ``BlobUploadBody/confirm(_:error:)`` throw, and
    ///   ``BlobError/Code/limitExceeded`` when the response is longer than its limit.
    public func upload(
        _ source: any BlobInputStreamDataSource, with request: URLRequest, context: BlobContext = BlobContext(),
        onProgress: BlobUploadBody.OnProgress? = nil
    ) async throws -> (Data, HTTPURLResponse) {
        let body = BlobUploadBody(source, mode: self.mode, context: context, onProgress: onProgress)
        let upload = Upload(body, responseLimit: self.responseLimit)
        var request = request
        if let mediaType, request.value(forHTTPHeaderField: "Content-Type") == nil {
            request.setValue(mediaType, forHTTPHeaderField: "Content-Type")
        }
        return try await withTaskCancellationHandler { [request] in
            try await withCheckedThrowingContinuation { continuation in
                upload.begin(continuation, deadline: context.deadline)
                // The source may block; so may the session, on Linux, while another upload waits for its source.
                BlockingPool.reads.run { self.start(upload, request) }
            }
        } onCancel: {
            body.cancel()
        }
    }

    private func start(_ upload: Upload, _ request: URLRequest) {
        do {
            let request = try upload.body.prepare(request)
            guard let data = try upload.body.wholeBody(ofAtMost: Self.wholeBodyLimit) else {
                return self.begin(self.session.uploadTask(withStreamedRequest: request), for: upload)
            }
            // Sent again, data would go on where they stopped. A stream does not.
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
