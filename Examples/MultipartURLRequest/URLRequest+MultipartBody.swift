import BlobStreams
import Foundation
import MultipartFormData

extension URLRequest {
    /// Creates a request that posts a form; its body is a `BlobInputStream`.
    ///
    /// `Content-Type` is that of the body. Where the loading system asks for the body again, in
    /// `urlSession(_:task:needNewBodyStream:)`, give it a new `BlobInputStream` over the same `body`: the bytes are the
    /// same. On Linux bodies of streams are always sent without `Content-Length`, in chunks; elsewhere it is set when
    /// the length is known.
    ///
    /// - Parameters:
    ///   - body: What to send.
    ///   - url: Where to.
    ///   - mode: Whether reads of the stream wait; loading systems want them to.
    ///   - context: The terms of reading.
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
