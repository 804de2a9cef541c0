import BlobCore

/// A GET, HEAD or DELETE request.
package struct TransferRequest: Sendable {
    /// The URL; its credentials are sent if there are no others.
    package var url: TransferURL

    /// The fields of the request itself, such as `Range`; they follow redirections.
    package var fields: [BlobHTTPField] = []

    /// The fields that may hold secrets; like credentials, they are sent to the origin of ``url`` only.
    package var privateFields: [BlobHTTPField] = []

    package var settings = BlobTransferSettings()

    /// True for a HEAD request, whose answer has no body.
    package var isHead = false

    /// True for a DELETE request.
    package var isDelete = false

    /// True for a request whose answer has at most 1 MiB, and may share a connection with others.
    package var isShort = false

    /// The longest time without activity on the connection, unless the sink has paused it.
    package var idleLimit = BlobTransferSettings.defaultIdleLimit

    /// The maximum number of redirections that are followed: to `http` from `https` never.
    package var maximumRedirectionCount = 5

    /// The memory of redirections, which requests for the same object share; nil begins at ``url``.
    package var relocation: Relocation?

    package init(_ url: TransferURL, fields: [BlobHTTPField] = []) { (self.url, self.fields) = (url, fields) }
}

/// The handling of an answer, decided at the end of its head.
enum TransferDisposition: Sendable {
    /// The body is passed to the sink.
    case deliver
    /// The body is an explanation, of which the beginning becomes part of the error.
    case explain
    /// The body is of no interest, and the transfer ends without an error.
    case drop
}

/// The consumer of an answer. Its methods are called on the thread of all transfers, and must not block.
protocol TransferSink: AnyObject, Sendable {
    /// Decides about the answer whose head is complete; an error ends the transfer.
    func begin(_ head: ResponseHead) throws(BlobError) -> TransferDisposition

    /// Takes bytes of the body; returns false to take none, and to pause until ``Transfer/resume()``.
    func take(_ bytes: UnsafeRawBufferPointer) -> Bool

    /// Called after some calls of ``begin(_:)`` and ``take(_:)``: the moment to wake readers.
    func flush()

    /// Returns the error for an answer that was to be explained.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError

    /// Ends the transfer; no other call follows. Not called after ``Transfer/cancel()`` took effect.
    func end(_ error: BlobError?)
}

extension TransferSink {
    /// The error of ``BlobError/init(refusing:_:)``.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        BlobError(refusing: head, explanation)
    }
}
