import BlobStreams
import Foundation

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
        guard upload.restarts() else { return completionHandler(upload.body.makeStream()) }
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
