package import BlobCore
import BlobPlatform

extension ResponseHead {
    /// The algorithms by their names in `Repr-Digest` and `Content-Digest` (RFC 9530, section 5) and `x-goog-hash`; RFC
    /// 3230 has the same in its `Digest`.
    private static let algorithms: [String: StatedAlgorithm] = [
        "sha-512": .sha512, "sha-256": .sha256, "sha": .sha1, "md5": .md5, "crc32c": .crc32c,
    ]

    /// The digests of the whole object that this answer states, whichever part of it is in its body.
    package var objectDigests: [BlobStatedDigest] {
        var digests = ["Repr-Digest", "Digest"].flatMap(self.dictionary)
        // Google's is of the bytes as they are stored, which it may have decoded for this answer.
        let storedCoding = self.value(of: "x-goog-stored-content-encoding")?.lowercased() ?? "identity"
        if storedCoding == self.contentCodings.last ?? "identity" { digests += self.dictionary("x-goog-hash") }
        if self.status != 206 {
            digests += self.bodyDigests
            // Servers disagree on whether it is of a part or of the whole (RFC 7231, appendix B).
            digests += self.values(of: "content-md5").compactMap { Self.digest(.md5, $0, "Content-MD5") }
        }
        for algorithm in [StatedAlgorithm.crc64nvme, .crc32c, .crc32, .sha256, .sha1] {
            let field = "x-amz-checksum-\(algorithm.rawValue)"
            // A composite checksum is computed from those of the parts, not from the bytes.
            guard self.value(of: "x-amz-checksum-type")?.lowercased() != "composite" else { continue }
            digests += self.values(of: field).compactMap { Self.digest(algorithm, $0, field) }
        }
        return digests
    }

    /// The digests of the body of this answer, which count for the object when the body is the object.
    package var bodyDigests: [BlobStatedDigest] { self.dictionary("Content-Digest") }

    /// Returns the digests of a field that is a list of algorithms with their values in base64, which RFC 9530 has
    /// between colons (RFC 8941, section 3.3.5).
    private func dictionary(_ field: String) -> [BlobStatedDigest] {
        self.values(of: field.lowercased()).flatMap { $0.split(separator: ",") }.compactMap { item in
            let parts = item.split(separator: "=", maxSplits: 1)
            let name = parts.first?.filter { !$0.isWhitespace }.lowercased() ?? ""
            guard parts.count == 2, let algorithm = Self.algorithms[name] else { return nil }
            let text = parts[1].filter { !$0.isWhitespace }.split(separator: ":").first ?? ""
            return Self.digest(algorithm, String(text), field)
        }
    }

    /// Returns the digest of a text in base64; nil for one that is none of the algorithm.
    private static func digest(_ algorithm: StatedAlgorithm, _ text: String, _ field: String) -> BlobStatedDigest? {
        guard let value = Data(base64Encoded: text), value.count == algorithm.byteCount else { return nil }
        return BlobStatedDigest(algorithm.rawValue, Array(value), origin: field)
    }

    /// The MD5 that the ETag of a store is: 32 hexadecimal digits; nil for any other.
    package var tagDigest: BlobStatedDigest? {
        let text = (self.value(of: "etag") ?? "").split(separator: "\"", omittingEmptySubsequences: false)
        guard text.count == 3, text[0].isEmpty, text[2].isEmpty, text[1].utf8.count == 32,
            let value = [UInt8](hexadecimal: text[1].utf8)
        else { return nil }
        return BlobStatedDigest(StatedAlgorithm.md5.rawValue, value, origin: "ETag")
    }
}
