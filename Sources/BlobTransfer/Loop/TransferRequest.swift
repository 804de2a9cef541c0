import BlobCore

/// A GET, HEAD or DELETE request.
package struct TransferRequest: Sendable {
    /// The URL. Its credentials are sent unless the settings provide credentials.
    package var url: TransferURL

    /// The fields of the request itself, such as `Range`, which are also sent to the targets of redirections.
    package var fields: [BlobHTTPField] = []

    /// The fields that may contain secrets, which like credentials are sent only to the origin of ``url``.
    package var privateFields: [BlobHTTPField] = []

    package var settings = BlobTransferSettings()

    /// True for a HEAD request, whose response has no body.
    package var isHead = false

    /// True for a DELETE request.
    package var isDelete = false

    /// True for a request whose response is at most 1 MiB and may share a connection with others.
    package var isShort = false

    /// The longest time without activity on the connection, unless the sink has paused it.
    package var idleLimit = BlobTransferSettings.defaultIdleLimit

    /// The maximum number of redirections to follow. Redirections from `https` to `http` are never followed.
    package var maximumRedirectionCount = 5

    /// The redirection target shared by requests for the same object; nil to start at ``url``.
    package var relocation: Relocation?

    /// The offset of the first byte that is requested.
    var byteOffset: Int64 = 0

    /// The activity that makes the request; nil if it is not observed.
    var activity: BlobActivity?

    package init(_ url: TransferURL, fields: [BlobHTTPField] = []) { (self.url, self.fields) = (url, fields) }
}

/// The part of a job's context that applies to requests: the idle limit and the activity.
struct RequestJob: Sendable {
    /// The longest time without activity on the connection; nil uses the default.
    private(set) var idleLimit: Duration?
    private(set) var activity: BlobActivity?

    init() {}

    init(_ context: BlobContext) {
        self.idleLimit = context.idleLimit
        self.activity = context.activity?.isRecording == true ? context.activity : nil
    }
}

extension TransferRequest {
    mutating func use(_ job: RequestJob) {
        (self.idleLimit, self.activity) = (job.idleLimit ?? self.idleLimit, job.activity)
    }

    /// The method of the request.
    var method: String { self.isHead ? "HEAD" : self.isDelete ? "DELETE" : "GET" }
}

extension BlobActivity {
    /// Begins a request, which is the activity of one exchange with a server.
    func beginRequest(_ method: String, _ url: TransferURL, at byteOffset: Int64 = 0) -> BlobActivity {
        self.begin(.request, method, scheme: url.origin.scheme, at: byteOffset) { url.description }
    }

    /// Returns the fields by which the server recognises the request as a part of the job: those that are valid, and
    /// that the request does not have.
    func headerFields(beside fields: [BlobHTTPField]) -> [BlobHTTPField] {
        let names = Set(fields.map { $0.name.lowercased() })
        return self.requestFields.map { BlobHTTPField($0.name, $0.value) }.filter { field in
            !names.contains(field.name.lowercased()) && (try? field.validate(reserved: [], "")) != nil
        }
    }
}

/// The handling of a response, decided at the end of its head.
enum TransferDisposition: Sendable {
    /// The body is passed to the sink.
    case deliver
    /// The body is an explanation; its beginning becomes part of the error.
    case explain
    /// The body is ignored, and the transfer ends without an error.
    case drop
}

/// The consumer of a response. Its methods are called on the thread of all transfers and must not block.
protocol TransferSink: AnyObject, Sendable {
    /// Decides how to handle a response whose head is complete. An error ends the transfer.
    func begin(_ head: ResponseHead) throws(BlobError) -> TransferDisposition

    /// Consumes bytes of the body. Returns false to consume none and pause until ``Transfer/resume()``.
    func receive(_ bytes: UnsafeRawBufferPointer) -> Bool

    /// Called after one or more calls to ``begin(_:)`` and ``receive(_:)``, to wake readers.
    func flush()

    /// Returns the error for a response with the disposition ``TransferDisposition/explain``.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError

    /// Ends the transfer. No other call follows. Not called after ``Transfer/cancel()`` has taken effect.
    func end(_ error: BlobError?)
}

extension TransferSink {
    /// The error of ``BlobError/init(refusing:_:)``.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        BlobError(refusing: head, explanation)
    }
}
