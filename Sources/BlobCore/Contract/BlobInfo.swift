/// The facts known about a blob before it is read.
public struct BlobInfo: Hashable, Sendable {
    /// The length of the blob in bytes, from 0; nil when it is not known before the end.
    public var byteCount: Int64?

    /// The media type, as in RFC 6838: `image/jpeg`; nil when unknown.
    public var mediaType: String?

    /// A name for people and forms: the last component of a path; nil when there is none.
    public var name: String?

    /// The identity of the content; nil when two openings cannot be compared.
    public var validator: BlobValidator?

    /// True when opening at an offset costs about as much as opening at the start; otherwise the bytes before the
    /// offset are read and dropped.
    public var isRandomAccess: Bool

    /// The time of the last change of a file or its status (`st_ctime`), in nanoseconds since 1970; nil when unknown.
    ///
    /// No call can set it, so it reveals changes that kept the length and the time of modification. It also changes
    /// with names and permissions: too strict for a validator, right for a cache.
    package var statusChangeTime: Int64?

    /// Creates an info; facts that are left out are unknown.
    public init(
        byteCount: Int64? = nil, mediaType: String? = nil, name: String? = nil, validator: BlobValidator? = nil,
        isRandomAccess: Bool = false
    ) {
        self.byteCount = byteCount
        self.mediaType = mediaType
        self.name = name
        self.validator = validator
        self.isRandomAccess = isRandomAccess
    }
}

extension BlobInfo {
    /// Checks the offset and the validator of an opening against these facts (contracts C5 and C7).
    ///
    /// - Throws: ``BlobError/Code/invalidArgument`` for an offset that is negative or past the end,
    ///   ``BlobError/Code/changed`` for another validator.
    public func check(byteOffset: Int64, matching validator: BlobValidator?) throws(BlobError) {
        guard byteOffset >= 0 else {
            throw BlobError(.invalidArgument, "The offset \(byteOffset) is negative.")
        }
        if let byteCount, byteOffset > byteCount {
            throw BlobError(.invalidArgument, "The offset \(byteOffset) is past the end of \(byteCount) bytes.")
        }
        if let validator, validator != self.validator {
            throw BlobError(.changed, "The content is not the one that was asked for.")
        }
    }
}
