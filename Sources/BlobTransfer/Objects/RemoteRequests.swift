package import BlobCore

/// The requests for one remote object: how they are made, and what their answers mean.
///
/// The seam between the reading of objects (``RemoteObject``) and a protocol with its addresses and signatures. A
/// source is its locator and a value of this type.
package protocol RemoteRequests: Sendable {
    /// Makes the request for the object that has these fields, `Range` and a condition, and passes it on.
    ///
    /// Must not block. `completion` is called once, on any thread, perhaps before this returns.
    func makeRequest(
        _ fields: [BlobHTTPField], _ completion: @escaping @Sendable (Result<TransferRequest, BlobError>) -> Void)

    /// The name of the field with the condition that the object is still the same: `If-Range` or `If-Match`.
    var conditionField: String { get }

    /// Returns the name of the object, for people and forms.
    func name(_ head: ResponseHead) -> String?

    /// Learns from an answer that is not the object; returns true when a request that is made anew may succeed. Asked
    /// once for each part of an object.
    func corrects(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool

    /// Returns the error for an answer that is not the object.
    func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError
}

extension RemoteRequests {
    package var conditionField: String { "If-Range" }

    /// False: answers teach nothing.
    package func corrects(_ head: ResponseHead, _ explanation: [UInt8]) -> Bool { false }

    /// The error of ``BlobError/init(refusing:_:)``.
    package func refusal(_ head: ResponseHead, _ explanation: [UInt8]) -> BlobError {
        BlobError(refusing: head, explanation)
    }
}
