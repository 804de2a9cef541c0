package import BlobCore

/// A request of a protocol for resumable uploads.
package protocol ResumableRequest: Sendable {
    /// Carries out a request without a body, or returns the receiver of its body.
    ///
    /// - Parameter uploads: Nil when nothing is stored.
    /// - Returns: Nil for a request that is to be received like one of no such protocol.
    /// - Throws: An error with a ``RequestRefusal`` as its cause, and the errors of the disk.
    func makeReceiver(_ uploads: ResumableUploads?) throws(BlobError) -> (any BodyReceiver)?
}

extension ResumableUploads {
    /// Returns the request if it is one of a protocol for resumable uploads; nil otherwise.
    package static func request(
        method: String, path: String, fields: [RequestAnswer.Field]
    ) -> (any ResumableRequest)? {
        if let request = TusRequest(method: method, path: path, fields: fields) { return request }
        return DraftRequest(method: method, path: path, fields: fields)
    }
}
