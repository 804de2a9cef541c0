package import BlobCore

/// Receives the body of one request, on one thread at a time.
package protocol BodyReceiver: AnyObject {
    /// The interim answer that is sent before the body arrives; nil for none.
    var interimAnswer: RequestAnswer? { get }

    /// - Throws: The error for which the request is refused; ``abandon()`` is called next.
    func take(_ bytes: UnsafeRawBufferPointer) throws(BlobError)

    /// Ends a body that is complete. Called only when the connection has confirmed that.
    func answer() throws(BlobError) -> RequestAnswer

    /// Ends a request that will not be completed. A second call has no effect.
    func abandon()
}

extension BodyReceiver {
    package var interimAnswer: RequestAnswer? { nil }
}

extension RequestReceiver: BodyReceiver {
    package func answer() throws(BlobError) -> RequestAnswer { RequestAnswer(status: 201, parts: try self.finish()) }
}

/// The answer to a request that was not refused.
package struct RequestAnswer: Sendable {
    package typealias Field = (name: String, value: String)

    /// A status of 200 to 299, or 404; that of an interim answer is below 200.
    package let status: Int
    /// The header fields, without those that frame the body.
    package let fields: [Field]
    /// The parts that are complete now.
    package let parts: [ReceivedPart]

    package init(status: Int, fields: [Field] = [], parts: [ReceivedPart] = []) {
        (self.status, self.fields, self.parts) = (status, fields, parts)
    }
}

/// The cause of an error that is answered with a status of its own.
package struct RequestRefusal: Error {
    package let status: Int
    /// The header fields, without those that frame the body.
    package let fields: [RequestAnswer.Field]
    /// The body, as `application/problem+json`; nil for the message of the error as text.
    package let problem: String?
}
