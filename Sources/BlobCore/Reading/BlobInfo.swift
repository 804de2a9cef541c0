/// The facts known about a blob before it is read.
public struct BlobInfo: Hashable, Sendable {
    /// The length of the blob in bytes, at least 0; nil if it is not known before the end.
    public var byteCount: Int64?

    /// The media type, as in RFC 6838: `image/jpeg`; nil if unknown.
    public var mediaType: String?

    /// A name for display and for forms: the last component of a path; nil if the blob has no name.
    public var name: String?

    /// The identity of the content; nil if two openings cannot be compared.
    public var validator: BlobValidator?

    /// True if opening at an offset costs about as much as opening at the start; otherwise the bytes before the offset
    /// are read and discarded.
    public var isRandomAccess: Bool

    /// The digests of the whole blob that its server states; empty if it states no digests.
    ///
    /// A reader that covers the first byte to the last compares one of them with the digest of the bytes it read,
    /// before it reports the end: ``BlobEvent/Kind/verified``, or ``BlobError/Code/checksumMismatch``. Ranges that
    /// together cover all bytes, read with one ``BlobContext``, are compared with a checksum (`crc64nvme`, `crc32c`,
    /// `crc32`) in any order, with other digests only in sequence. A single range is not compared.
    public var digests: [BlobStatedDigest]

    /// The time of the last change of a file or its status (`st_ctime`), in nanoseconds since 1970; nil if unknown.
    ///
    /// No call can set it, so it reveals changes that preserved the length and the modification time. It also changes
    /// with names and permissions, so it is too strict for a validator, but suitable for a cache.
    package var statusChangeTime: Int64?

    /// Creates an info; omitted facts are unknown.
    public init(
        byteCount: Int64? = nil, mediaType: String? = nil, name: String? = nil, validator: BlobValidator? = nil,
        isRandomAccess: Bool = false, digests: [BlobStatedDigest] = []
    ) {
        self.byteCount = byteCount
        self.mediaType = mediaType
        self.name = name
        self.validator = validator
        self.isRandomAccess = isRandomAccess
        self.digests = digests
    }

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
            throw BlobError(.changed, "The content is not the version that was requested.")
        }
    }
}

/// A digest of the whole content that its server states.
public struct BlobStatedDigest: Hashable, Sendable {
    /// The algorithm, by its name in commands: `sha512`, `sha256`, `sha1`, `md5`, `crc64nvme`, `crc32c`, `crc32`.
    public let algorithm: String

    /// The digest; for a checksum, highest byte first.
    public let value: [UInt8]

    /// The origin of the statement, such as the header field `Repr-Digest`.
    public let origin: String

    /// Creates a stated digest.
    public init(_ algorithm: String, _ value: [UInt8], origin: String) {
        (self.algorithm, self.value, self.origin) = (algorithm, value, origin)
    }
}

/// The identity of a blob's content at one moment, to compare with a later one.
public struct BlobValidator: Hashable, Sendable {
    /// True if equal tokens mean equal bytes, as with a digest or an ETag. Otherwise, equal tokens mean equal bytes
    /// in all likelihood, as with the size and the times of a file.
    public let isStrong: Bool

    /// The text that is compared.
    public let token: String

    /// Returns a validator whose token is equal only for equal bytes.
    public static func strong(_ token: String) -> Self { Self(isStrong: true, token: token) }

    /// Returns a validator whose token is equal, in all likelihood, only for equal bytes.
    public static func weak(_ token: String) -> Self { Self(isStrong: false, token: token) }

    /// Returns the identity of content made of `parts` by `recipe`; strong if all parts are.
    ///
    /// For sources that are built on others.
    public static func combined(_ recipe: String, _ parts: [BlobValidator]) -> Self {
        // With its length as a prefix, no part can be mistaken for two, regardless of its content.
        var text = recipe + "(" + parts.map { "\($0.text.utf8.count):\($0.text)" }.joined(separator: ",") + ")"
        if parts.allSatisfy(\.isStrong) { return .strong(text) }
        // The token of a weak identity stays short, regardless of the number of parts: two independent 64-bit hashes.
        return text.withUTF8 { bytes in
            .weak("\(bytes.count)-\(Int64(bitPattern: bytes.fnv1a))-\(bytes.reversed().fnv1a)")
        }
    }

    /// The strength and the token in one word, for messages, logs and index files.
    package var text: String { "\(self.isStrong ? "strong" : "weak"):\(self.token)" }
}

extension Sequence<UInt8> {
    /// FNV-1a, 64 bits: draft-eastlake-fnv, offset basis and prime of section 5.
    package var fnv1a: UInt64 { self.reduce(0xcbf2_9ce4_8422_2325) { ($0 ^ UInt64($1)) &* 0x100_0000_01b3 } }
}
