import BlobCore

/// An upload in parts whose parts are stored by several processes, such as the tasks of an engine.
///
/// One process begins it, others store its parts in any order, each as often as they like, and one makes the object of
/// them. The object appears when it is whole. What is begun and neither finished nor aborted stays in the store.
package struct DividedUpload: Sendable, Equatable {
    /// The locator of the object.
    package let object: String
    /// The identifier that the store gave the upload.
    package let identifier: String
    /// The length of the source in bytes.
    package let byteCount: Int64
    /// The length of each part but the last, in bytes.
    package let partByteCount: Int64
    /// The token of the strong validator of the source, by which each process knows that it reads the same content.
    package let validator: String

    package init(object: String, identifier: String, byteCount: Int64, partByteCount: Int64, validator: String) {
        (self.object, self.identifier) = (object, identifier)
        (self.byteCount, self.partByteCount, self.validator) = (byteCount, partByteCount, validator)
    }

    /// - Throws: ``BlobError/Code/invalidArgument`` for parts that S3 does not have.
    func plan(_ limits: PartLimits) throws(BlobError) -> PartPlan {
        let plan = try PartPlan(partByteCount: self.partByteCount, byteCount: self.byteCount, limits: limits)
        guard self.byteCount >= 0, plan.partByteCount == self.partByteCount else {
            throw BlobError(.invalidArgument, "\(self.byteCount) bytes are not divided so.", operation: "write")
        }
        return plan
    }
}
