/// The offset, the identity and the context that a reader is opened with.
public struct BlobOpening: Sendable {
    /// The offset of the first byte to deliver, from 0. An offset past the end is found by the framework, also late.
    public let byteOffset: Int64

    /// The identity that the content must have; nil accepts any. The framework compares it with that in the info.
    public let validator: BlobValidator?

    /// The context of the job, kept for the life of the reader.
    public let context: BlobContext

    /// Creates an opening.
    public init(at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, context: BlobContext) {
        (self.byteOffset, self.validator, self.context) = (byteOffset, validator, context)
    }
}
