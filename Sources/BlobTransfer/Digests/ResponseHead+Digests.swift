package import BlobCore
import BlobPlatform

extension ResponseHead {
    /// The digests of the whole object that this response states, even if the body is only a part of the object.
    package var objectDigests: [BlobStatedDigest] {
        var digests = BlobStatedDigest.representationFields.flatMap(self.list)
        // Google's digest covers the stored bytes, and Google may have decoded them for this response.
        let storedCoding = self.value(of: "x-goog-stored-content-encoding")?.lowercased() ?? "identity"
        if storedCoding == self.contentCodings.last ?? "identity" { digests += self.list("x-goog-hash") }
        if self.status != 206 {
            digests += self.bodyDigests
            // Servers disagree on whether this digest covers the part or the whole (RFC 7231, appendix B).
            digests += self.list("Content-MD5")
        }
        for algorithm in [StatedAlgorithm.crc64nvme, .crc32c, .crc32, .sha256, .sha1] {
            let field = "x-amz-checksum-\(algorithm.rawValue)"
            // A composite checksum is computed from the checksums of the parts, not from the bytes.
            guard self.value(of: "x-amz-checksum-type")?.lowercased() != "composite" else { continue }
            digests += self.values(of: field).map { BlobStatedDigest(algorithm, base64: $0, field) }
        }
        return digests.filter { !$0.value.isEmpty }
    }

    /// The digests of this response's body. They apply to the object if the body is the whole object.
    package var bodyDigests: [BlobStatedDigest] { self.list("Content-Digest").filter { !$0.value.isEmpty } }

    private func list(_ field: String) -> [BlobStatedDigest] {
        BlobStatedDigest.list(field, self.values(of: field.lowercased()))
    }

    /// The MD5 in an ETag of 32 hexadecimal digits, as object stores send; nil for any other ETag.
    package var tagDigest: BlobStatedDigest? {
        let text = (self.value(of: "etag") ?? "").split(separator: "\"", omittingEmptySubsequences: false)
        guard text.count == 3, text[0].isEmpty, text[2].isEmpty, text[1].utf8.count == 32,
            let value = [UInt8](hexadecimal: text[1].utf8)
        else { return nil }
        return BlobStatedDigest(StatedAlgorithm.md5.rawValue, value, origin: "ETag")
    }
}
