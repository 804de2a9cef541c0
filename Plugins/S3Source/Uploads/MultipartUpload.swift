import BlobCore
import BlobDeflate
import BlobPlatform
import BlobTransfer

/// A multipart upload that a store has begun. Makes the requests, and checks the responses.
struct MultipartUpload: Sendable {
    /// A part that the store has received.
    struct Part: Equatable, Sendable {
        let number: Int
        let byteCount: Int64
        /// The entity tag without quotes.
        let tag: String
    }

    /// The maximum number of abort requests for one upload, because the store may still be storing a part.
    private static let maximumAbortCount = 3
    /// The time limit for cleaning up after an error.
    private static let abortLimit = Duration.seconds(30)

    let client: S3Client
    let identifier: String

    private var parameter: (name: String, value: String) {
        ("uploadId", PercentEncoding.encode(self.identifier.utf8, leaving: S3Address.segmentCharacters))
    }

    /// Begins an upload.
    ///
    /// - Parameter fields: The fields to store with the object, such as `Content-Type`.
    static func begin(_ client: S3Client, _ fields: [BlobHTTPField]) async throws(BlobError) -> MultipartUpload {
        var call = S3Call(method: "POST", parameters: [("uploads", "")], fields: fields, isRepeatable: false)
        call.checksums = [BlobHTTPField("x-amz-checksum-algorithm", "CRC64NVME"), S3Call.wholeChecksumField]
        let identifier = try await client.send(call) { (answer) throws(BlobError) in
            let identifier = try answer.document("InitiateMultipartUploadResult").text(of: "UploadId") ?? ""
            guard !identifier.isEmpty else {
                throw S3Client.corruptionError("does not contain the identifier of the upload")
            }
            return identifier
        }
        return MultipartUpload(client: client, identifier: identifier)
    }

    /// Returns the parts in the store, keyed by part number; nil if the upload does not exist in the store.
    func parts() async throws(BlobError) -> [Int: Part]? {
        var (parts, marker): ([Int: Part], Int?) = ([:], 0)
        while let last = marker {
            let call = S3Call(parameters: [self.parameter] + (last > 0 ? [("part-number-marker", "\(last)")] : []))
            do throws(BlobError) {
                let document = try await self.client.send(call) { (answer) throws(BlobError) in
                    try answer.document("ListPartsResult", "ListPartsResponse")
                }
                for element in document.children where element.name.local == "Part" {
                    let part = try Self.part(element)
                    parts[part.number] = part
                }
                marker = nil
                if document.text(of: "IsTruncated") == "true" {
                    // A marker that does not increase would repeat the same request endlessly.
                    guard let next = document.text(of: "NextPartNumberMarker").flatMap({ Int($0) }), next > last else {
                        throw S3Client.corruptionError("contains an incomplete list of parts")
                    }
                    marker = next
                }
            } catch {
                guard error.code == .notFound else { throw error }
                return nil
            }
        }
        return parts
    }

    /// Returns one part from the store; nil if the part is not in the store.
    func part(_ number: Int) async throws(BlobError) -> Part? {
        let call = S3Call(parameters: [
            ("max-parts", "1"), ("part-number-marker", "\(number - 1)"), self.parameter,
        ])
        return try await self.client.send(call) { (answer) throws(BlobError) in
            let list = try answer.document("ListPartsResult", "ListPartsResponse")
            let found = try list.children.filter { $0.name.local == "Part" }.map(Self.part)
            return found.first { $0.number == number }
        }
    }

    private static func part(_ element: MarkupElement) throws(BlobError) -> Part {
        guard let number = element.text(of: "PartNumber").flatMap({ Int($0) }), number > 0,
            let byteCount = element.text(of: "Size").flatMap({ Int64($0) }), byteCount >= 0,
            let tag = element.text(of: "ETag").map(EntityTag.text), !tag.isEmpty
        else { throw S3Client.corruptionError("lists a part without a number, a size or an entity tag") }
        return Part(number: number, byteCount: byteCount, tag: tag)
    }

    /// Stores a part.
    func store(
        _ number: Int, _ body: any BlobInputStreamDataSource, matching validator: BlobValidator?,
        _ digests: PartDigests, onProgress: @escaping @Sendable (Int64) -> Void
    ) async throws(BlobError) -> Part {
        let call = S3Call.put(digests, parameters: [("partNumber", "\(number)"), self.parameter])
        return try await self.client.send(call, body, matching: validator, onProgress: onProgress) {
            (answer) throws(BlobError) in
            let (tag, isCompared) = try answer.tag(matching: digests, self.client.requests.address)
            let isProven = isCompared || tag.lowercased() == digests.md5.hexadecimal
            self.client.requests.service.provesParts.withLock { $0 = isProven }
            return Part(number: number, byteCount: digests.byteCount, tag: tag)
        }
    }

    /// Completes the upload, so that the parts become the object.
    ///
    /// - Parameter sum: The checksum of all parts; nil if unknown.
    /// - Returns: The entity tag of the object, and whether the store stated the same checksum.
    /// - Throws: ``BlobError/Code/checksumMismatch`` if the store stated a different checksum; the errors of the
    ///   request.
    func complete(_ parts: [Part], _ sum: CyclicSum?) async throws(BlobError) -> (tag: String, isCompared: Bool) {
        let list = parts.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\"\(Self.escaped($0.tag))\"</ETag></Part>"
        }
        let body = Data(
            ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(list.joined())"
                + "</CompleteMultipartUpload>").utf8)
        var call = S3Call(method: "POST", parameters: [self.parameter])
        call.fields = [BlobHTTPField("Content-Type", "application/xml")]
        if let sum { call.checksums = [S3Call.checksumField(sum), S3Call.wholeChecksumField] }
        call.payloadHash = PartDigests(of: body).sha256
        return try await self.client.send(call, MemorySource(body)) { (answer) throws(BlobError) in
            let document = try answer.document("CompleteMultipartUploadResult")
            let tag = document.text(of: "ETag").map(EntityTag.text) ?? ""
            guard !tag.isEmpty else { throw S3Client.corruptionError("does not contain the entity tag of the object") }
            // Other checksums are computed from the checksums of the parts.
            let isWhole = document.text(of: "ChecksumType") != "COMPOSITE"
            let stated = isWhole ? document.text(of: "ChecksumCRC64NVME") : nil
            return (tag, try sum?.compare(stated, isTransient: false) ?? false)
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// Requests that the store delete all parts, even after a cancellation or a timeout.
    ///
    /// - Throws: The error of the failed request; the parts may remain in the store and incur costs.
    func abort() async throws(BlobError) {
        let context = BlobContext(deadline: .now + Self.abortLimit)
        let client = S3Client(self.client.requests, self.client.uploader, self.client.limits, context)
        for _ in 0..<Self.maximumAbortCount {
            do throws(BlobError) {
                try await client.send(S3Call(method: "DELETE", parameters: [self.parameter])) { _ in }
            } catch {
                guard error.code == .notFound else { throw error }
                return
            }
            let left = try await MultipartUpload(client: client, identifier: self.identifier).parts()
            if left?.isEmpty ?? true { return }
        }
    }
}

extension S3Call {
    /// The field of an object whose checksum covers its bytes rather than the checksums of its parts.
    static let wholeChecksumField = BlobHTTPField("x-amz-checksum-type", "FULL_OBJECT")

    static let checksumName = "x-amz-checksum-crc64nvme"

    static func checksumField(_ sum: CyclicSum) -> BlobHTTPField { BlobHTTPField(self.checksumName, sum.base64) }

    /// Returns a request whose body the store verifies against the digests.
    static func put(
        _ digests: PartDigests, parameters: [(name: String, value: String)] = [],
        fields: [BlobHTTPField] = [BlobHTTPField("Content-Type", "application/octet-stream")]
    ) -> S3Call {
        S3Call(
            method: "PUT", parameters: parameters,
            fields: fields + [BlobHTTPField("Content-MD5", digests.contentMD5)],
            checksums: [self.checksumField(digests.sum)], payloadHash: digests.sha256)
    }
}

extension CyclicSum {
    fileprivate var base64: String { Data(self.finalize()).base64EncodedString() }

    /// Compares this checksum with the checksum that the store states.
    ///
    /// - Returns: False if the store states no checksum or an invalid one.
    /// - Throws: ``BlobError/Code/checksumMismatch``.
    fileprivate func compare(_ stated: String?, isTransient: Bool) throws(BlobError) -> Bool {
        guard let stated, Data(base64Encoded: stated)?.count == self.finalize().count else { return false }
        guard stated == self.base64 else {
            throw BlobError(
                .checksumMismatch,
                "The bytes in the store have the CRC-64/NVME \(stated), but the bytes that were sent have "
                    + "\(self.base64).",
                operation: "write", isTransient: isTransient)
        }
        return true
    }
}

extension S3Client.Answer {
    /// Returns the entity tag without quotes, and whether the store states the same checksum.
    ///
    /// The tag is the MD5, unless the store encrypts the object or uses another kind of tag.
    ///
    /// - Throws: ``BlobError/Code/checksumMismatch``; ``BlobError/Code/corrupted`` if the response contains no tag.
    func tag(
        matching digests: PartDigests, _ address: S3Address
    ) throws(BlobError) -> (tag: String, isCompared: Bool) {
        guard let tag = self.head.value(of: "etag").map(EntityTag.text), !tag.isEmpty else {
            throw S3Client.corruptionError("does not contain an entity tag")
        }
        let encryption = self.head.value(of: "x-amz-server-side-encryption") ?? "AES256"
        let isDigest =
            encryption == "AES256" && self.head.value(of: "x-amz-server-side-encryption-customer-algorithm") == nil
            && EntityTag.isMD5(tag) && !address.bucket.hasSuffix("--x-s3")
        guard !isDigest || tag.lowercased() == digests.md5.hexadecimal else {
            throw BlobError(
                .checksumMismatch,
                "The bytes in the store have the MD5 \(tag), but the bytes that were sent have "
                    + "\(digests.md5.hexadecimal).",
                operation: "write", isTransient: true)
        }
        let stated = self.head.value(of: S3Call.checksumName)
        return (tag, try digests.sum.compare(stated, isTransient: true))
    }
}

/// Completes an object from its parts, and verifies that the object consists of the bytes that the store accepted.
struct MultipartCompletion: Sendable {
    let client: S3Client

    private var locator: String { self.client.requests.address.text }

    /// Completes the object and checks it.
    ///
    /// - Parameter onMade: Called once the store has completed the object, before the check.
    /// - Returns: The object, and the digest that was compared, such as `MD5 (ETag)`; nil if only the length was
    ///   compared.
    func create(
        from parts: [FinishedPart], _ upload: MultipartUpload, onMade: () -> Void = {}
    ) async throws(BlobError) -> (object: S3Uploader.StoredObject, check: String?) {
        let byteCount = parts.reduce(0) { $0 + $1.part.byteCount }
        let areDigests = parts.allSatisfy { $0.part.tag.lowercased() == $0.md5.hexadecimal }
        let expected = areDigests ? EntityTag.combined(parts.map(\.md5)) : nil
        let (tag, isCompared): (String, Bool)
        do throws(BlobError) {
            (tag, isCompared) = try await upload.complete(parts.map(\.part), Self.sum(of: parts))
        } catch {
            // A request whose response was lost may have completed the object.
            guard error.code != .checksumMismatch, let expected, let object = try? await self.storedObject(),
                object.entityTag.lowercased() == expected,
                object.byteCount == byteCount
            else { throw error }
            (tag, isCompared) = (expected, false)
        }
        onMade()
        let check = S3Client.check(isCompared, tag.lowercased() == expected)
        guard tag.lowercased() != expected else { return (self.facts(byteCount, tag), check) }
        if let expected, EntityTag.isCombined(tag) {
            throw BlobError(
                .checksumMismatch,
                "The store created an object with the tag \(tag), but its parts require the tag \(expected).",
                operation: "write", locator: self.locator)
        }
        return (try await self.checkedObject(byteCount, tag), check)
    }

    /// Returns the checksum of all parts; nil if the checksum of a part is unknown.
    private static func sum(of parts: [FinishedPart]) -> CyclicSum? {
        var whole = CyclicSum(.crc64NVME)
        for part in parts {
            guard let sum = part.sum else { return nil }
            whole.append(sum, byteCount: part.part.byteCount)
        }
        return whole
    }

    func facts(_ byteCount: Int64, _ tag: String) -> S3Uploader.StoredObject {
        S3Uploader.StoredObject(locator: self.locator, byteCount: byteCount, entityTag: tag)
    }

    /// Returns the object in the store.
    func storedObject() async throws(BlobError) -> S3Uploader.StoredObject {
        try await self.client.send(S3Call(method: "HEAD")) { (answer) throws(BlobError) in
            guard let byteCount = answer.head.contentLength, let tag = answer.head.value(of: "etag") else {
                throw S3Client.corruptionError("does not contain the length and the entity tag of the object")
            }
            return self.facts(byteCount, EntityTag.text(tag))
        }
    }

    /// Verifies that the object in the store is the sent object, and returns it.
    func checkedObject(_ byteCount: Int64, _ tag: String) async throws(BlobError) -> S3Uploader.StoredObject {
        let (object, expected) = (try await self.storedObject(), self.facts(byteCount, tag))
        guard object == expected else {
            throw BlobError(
                .changed,
                "The store has \(object.byteCount) bytes with the tag \(object.entityTag), but it accepted "
                    + "\(byteCount) bytes with the tag \(tag).", operation: "write", locator: self.locator)
        }
        return object
    }
}

/// A part in the store, with the MD5 of its source and, if known, the CRC-64/NVME.
struct FinishedPart: Sendable {
    let part: MultipartUpload.Part
    let md5: [UInt8]
    var sum: CyclicSum?
}
