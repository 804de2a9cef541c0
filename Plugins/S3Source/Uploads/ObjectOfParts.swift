import BlobCore
import BlobTransfer

/// An object that a store makes of parts, and the checks that it has the bytes that it accepted.
struct ObjectOfParts: Sendable {
    let client: S3Client

    private var locator: String { self.client.requests.address.text }

    /// Makes the object, and checks it.
    ///
    /// - Parameter onMade: Called when the store has made it, before it is checked.
    func make(
        of parts: [FinishedPart], _ upload: MultipartUpload, onMade: () -> Void = {}
    ) async throws(BlobError) -> S3Uploader.StoredObject {
        let byteCount = parts.reduce(0) { $0 + $1.part.byteCount }
        let areDigests = parts.allSatisfy { $0.part.tag.lowercased() == $0.md5.hexadecimal }
        let expected = areDigests ? EntityTag.combined(parts.map(\.md5)) : nil
        let tag: String
        do throws(BlobError) {
            tag = try await upload.complete(parts.map(\.part))
        } catch {
            // The object may be there all the same, made by a request whose answer was lost.
            guard let expected, let object = try? await self.stored(), object.entityTag.lowercased() == expected,
                object.byteCount == byteCount
            else { throw error }
            tag = expected
        }
        onMade()
        guard tag.lowercased() != expected else { return self.facts(byteCount, tag) }
        if let expected, EntityTag.isCombined(tag) {
            throw BlobError(
                .checksumMismatch, "The store made an object with the tag \(tag) of parts with \(expected).",
                operation: "write", locator: self.locator)
        }
        return try await self.checked(byteCount, tag)
    }

    func facts(_ byteCount: Int64, _ tag: String) -> S3Uploader.StoredObject {
        S3Uploader.StoredObject(locator: self.locator, byteCount: byteCount, entityTag: tag)
    }

    /// Returns the object that the store has.
    func stored() async throws(BlobError) -> S3Uploader.StoredObject {
        try await self.client.send(S3Call(method: "HEAD")) { (answer) throws(BlobError) in
            guard let byteCount = answer.head.contentLength, let tag = answer.head.value(of: "etag") else {
                throw S3Client.corrupted("an object without length or tag")
            }
            return self.facts(byteCount, EntityTag.text(tag))
        }
    }

    /// Compares an object that was stored with that of the store.
    func checked(_ byteCount: Int64, _ tag: String) async throws(BlobError) -> S3Uploader.StoredObject {
        let (object, expected) = (try await self.stored(), self.facts(byteCount, tag))
        guard object == expected else {
            throw BlobError(
                .changed,
                "The store has \(object.byteCount) bytes with the tag \(object.entityTag), not the "
                    + "\(byteCount) with \(tag) that it accepted.", operation: "write", locator: self.locator)
        }
        return object
    }
}

/// A part that the store has, with the MD5 of the source.
struct FinishedPart: Sendable {
    let part: MultipartUpload.Part
    let md5: [UInt8]
}
