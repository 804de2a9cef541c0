public import BlobStreams
public import Foundation
public import MultipartFormData

extension URLRequest {
    /// Creates a request that posts a form. The body of the request is a `BlobInputStream`.
    ///
    /// `Content-Type` is taken from the body. If the loading system needs the body again, in
    /// `urlSession(_:task:needNewBodyStream:)`, provide a new `BlobInputStream` over the same `body`, which has the
    /// same bytes. On Linux, stream bodies are always sent in chunks without `Content-Length`; on other systems, it is
    /// set if the length is known.
    ///
    /// - Parameters:
    ///   - body: The body to send.
    ///   - url: The URL to post to.
    ///   - mode: The mode of the stream. Loading systems expect reads that wait (`.synchronous`).
    ///   - context: The context for reading.
    public init(
        posting body: MultipartBody, to url: URL, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext()
    ) {
        self.init(url: url)
        self.httpMethod = "POST"
        self.setValue(body.contentType, forHTTPHeaderField: "Content-Type")
        if Self.sendsLengthOfStreams, let byteCount = body.byteCount {
            self.setValue("\(byteCount)", forHTTPHeaderField: "Content-Length")
        }
        self.httpBodyStream = BlobInputStream(body, mode: mode, context: context)
    }
}
