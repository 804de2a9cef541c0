package import BlobCore
import BlobPlatform

/// The header fields of requests and answers that state digests.
extension BlobStatedDigest {
    /// The algorithms by their names in `Repr-Digest` and `Content-Digest` (RFC 9530, section 5) and `x-goog-hash`; RFC
    /// 3230 has the same in its `Digest`.
    private static let algorithms: [String: StatedAlgorithm] = [
        "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5, "crc32c": .crc32c,
    ]

    /// The fields with digests of the whole representation, whichever part of it a message has.
    package static let representationFields = ["Repr-Digest", "Digest"]

    /// The fields with digests of the content of one message.
    package static let contentFields = ["Content-Digest", "Content-MD5"]

    /// Returns the digests of the values of a field. One that is malformed has no bytes; those of unknown algorithms are
    /// left out.
    package static func list(_ field: String, _ values: [String]) -> [Self] {
        if field == "Content-MD5" { return values.map { Self(.md5, base64: $0, field) } }
        // A list of algorithms with their values in base64, which RFC 9530 has between colons (RFC 8941, section 3.3.5).
        return values.flatMap { $0.split(separator: ",") }.compactMap { item in
            let parts = item.split(separator: "=", maxSplits: 1)
            let name = parts.first?.filter { !$0.isWhitespace }.lowercased() ?? ""
            guard let algorithm = Self.algorithms[name] else { return nil }
            let text = parts.dropFirst().first?.filter { !$0.isWhitespace }.split(separator: ":").first ?? ""
            return Self(algorithm, base64: String(text), field)
        }
    }

    /// Returns the value of a `Repr-Digest` with the digests; nil without one that it can have.
    package static func fieldValue(_ digests: [Self]) -> String? {
        let items = digests.compactMap { digest in
            Self.algorithms.first { $0.value.rawValue == digest.algorithm }
                .map { "\($0.key)=:\(Data(digest.value).base64EncodedString()):" }
        }
        return items.isEmpty ? nil : items.joined(separator: ", ")
    }

    /// Creates a digest of a text in base64; without bytes when it is malformed, or of another length.
    package init(_ algorithm: StatedAlgorithm, base64 text: String, _ origin: String) {
        let value = Data(base64Encoded: text).map(Array.init) ?? []
        self.init(algorithm.rawValue, value.count == algorithm.byteCount ? value : [], origin: origin)
    }
}
