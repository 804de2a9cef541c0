package import BlobStreamsStandard
package import Foundation

/// Sends a request whose body is a `BlobInputStream` with a `URLSession`.
///
/// `URLSession` alone would lose the body. On Linux, it follows a redirection with an empty body, waits endlessly for
/// the response to a challenge, and reports neither the error of a stream nor a response that arrives before the
/// stream's end. This class therefore follows no redirection and answers no challenge, and judges success by the state
/// of the stream. `URLSessionUploader` covers more cases.
package final class StreamedUpload: NSObject, URLSessionDataDelegate, @unchecked Sendable {
    // Safe: the session uses the stream until it signals `completionSignal`. After `init`, only the session changes
    // other members, before that signal.
    private let body: BlobInputStream
    private let completionSignal = DispatchSemaphore(value: 0)
    private var bytes = Data()
    private var outcome = Result<URLResponse?, any Error>.success(nil)
    private var finalState = BlobStreamState()

    /// Begins to send a request.
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` if its body is not a `BlobInputStream`.
    package init(_ request: URLRequest) throws(BlobError) {
        guard let body = request.httpBodyStream as? BlobInputStream else {
            throw BlobError(.invalidArgument, "The body of the request is not a BlobInputStream.")
        }
        self.body = body
        super.init()
        let session = URLSession(configuration: .ephemeral, delegate: self, delegateQueue: nil)
        session.dataTask(with: request).resume()
        session.finishTasksAndInvalidate()
    }

    /// Waits for the response, and returns its status and text.
    ///
    /// - Throws: The error of the stream; ``BlobError/Code/unavailable`` for an error of the session;
    ///   ``BlobError/Code/refused`` for a status outside 200 to 299; ``BlobError/Code/truncated`` for a success that
    ///   arrived before the end of the body.
    package func answer() throws -> String {
        self.completionSignal.wait()
        if let error = self.finalState.error { throw error }
        let response: URLResponse?
        do {
            response = try self.outcome.get()
        } catch {
            throw BlobError(.unavailable, error.localizedDescription, operation: "write", cause: error)
        }
        let status = (response as? HTTPURLResponse)?.statusCode ?? 0
        let text = String(decoding: self.bytes, as: UTF8.self).trimmingCharacters(in: .newlines)
        guard (200...299).contains(status) else { throw BlobError(.refused, "The server answered \(status): \(text)") }
        guard self.finalState.isAtEnd else {
            throw BlobError(
                .truncated, "The server responded before the body had been read to its end.",
                byteOffset: self.finalState.byteOffset)
        }
        return "\(status) \(text)"
    }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask,
        needNewBodyStream completionHandler: @escaping @Sendable (InputStream?) -> Void
    ) { completionHandler(self.body) }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, willPerformHTTPRedirection response: HTTPURLResponse,
        newRequest request: URLRequest, completionHandler: @escaping @Sendable (URLRequest?) -> Void
    ) { completionHandler(nil) }

    package func urlSession(
        _ session: URLSession, task: URLSessionTask, didReceive challenge: URLAuthenticationChallenge,
        completionHandler: @escaping @Sendable (URLSession.AuthChallengeDisposition, URLCredential?) -> Void
    ) { completionHandler(.cancelAuthenticationChallenge, nil) }

    package func urlSession(_ session: URLSession, dataTask: URLSessionDataTask, didReceive data: Data) {
        self.bytes += data
    }

    package func urlSession(_ session: URLSession, task: URLSessionTask, didCompleteWithError error: (any Error)?) {
        self.outcome = error.map { .failure($0) } ?? .success(task.response)
        self.finalState = self.body.state.value
        // On Linux, the session does not close the stream, so a writer at the other end of a pair would wait.
        self.body.close()
        self.completionSignal.signal()
    }
}
