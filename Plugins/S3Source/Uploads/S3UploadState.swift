import BlobCore

/// The facts by which another process continues an upload in parts.
struct S3UploadState: Codable, Equatable, Sendable {
    /// The locator of the object.
    var object: String
    /// The identifier that the store gave the upload.
    var identifier: String
    var partByteCount: Int64
    /// The length of the source in bytes; nil when it was unknown.
    var byteCount: Int64?
    /// The strength and the token of the source's validator.
    var isStrong: Bool
    var validator: String

    /// The validator of the source.
    var identity: BlobValidator { self.isStrong ? .strong(self.validator) : .weak(self.validator) }
}
