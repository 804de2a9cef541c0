package import BlobCore
import BlobPlatform

/// The header fields that state digests in requests and responses.
extension BlobStatedDigest {
    /// The algorithms, keyed by their names in `Repr-Digest` and `Content-Digest` (RFC 9530, section 5) and in
    /// `x-goog-hash`. The `Digest` field of RFC 3230 uses the same names.
    private static let algorithms: [String: StatedAlgorithm] = [
        "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5, "crc32c": .crc32c,
    ]

    /// The fields that state digests of the whole representation, even in a message with only a part of it.
    package static let representationFields = ["Repr-Digest", "Digest"]

    /// The fields that state digests of one message's content.
    package static let contentFields = ["Content-Digest", "Content-MD5"]

    /// Returns the digests in the values of a field. A malformed digest has no bytes; unknown algorithms are omitted.
    package static func list(_ field: String, _ values: [String]) -> [Self] {
        if field == "Content-MD5" { return values.map { Self(.md5, base64: $0, field) } }
        // A list of algorithms with base64 values, which RFC 9530 encloses in colons (RFC 8941, section 3.3.5).
        return values.flatMap { $0.split(separator: ",") }.compactMap { item in
            let parts = item.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            let name = parts.first?.filter { !$0.isWhitespace }.lowercased() ?? ""
            guard let algorithm = Self.algorithms[name] else { return nil }
            let text = parts.dropFirst().first?.filter { !$0.isWhitespace }.split(separator: ":").first ?? ""
            return Self(algorithm, base64: String(text), field)
        }
    }

    /// Returns the value of a `Repr-Digest` field for the digests; nil if the field supports none of their algorithms.
    package static func fieldValue(_ digests: [Self]) -> String? {
        let items = digests.compactMap { digest in
            Self.algorithms.first { $0.value.rawValue == digest.algorithm }
                .map { "\($0.key)=:\(Data(digest.value).base64EncodedString()):" }
        }
        return items.isEmpty ? nil : items.joined(separator: ", ")
    }

    /// Creates a digest from base64 text. The digest has no bytes if the text is malformed or has the wrong length.
    package init(_ algorithm: StatedAlgorithm, base64 text: String, _ origin: String) {
        let value = Data(base64Encoded: text).map(Array.init) ?? []
        self.init(algorithm.rawValue, value.count == algorithm.byteCount ? value : [], origin: origin)
    }
}
