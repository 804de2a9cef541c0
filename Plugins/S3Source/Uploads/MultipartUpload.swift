import BlobCore
import BlobPlatform
import BlobTransfer

/// An upload in parts that a store has begun: its requests, and the checks of their answers.
struct MultipartUpload: Sendable {
    /// A part that the store has.
    struct Part: Equatable, Sendable {
        let number: Int
        let byteCount: Int64
        /// The entity tag without quotes.
        let tag: String
    }

    /// The maximum number of times that an upload is aborted: the store may still have been storing a part.
    private static let maximumAbortCount = 3
    /// The longest time for cleaning up after an error.
    private static let abortLimit = Duration.seconds(30)

    let client: S3Client
    let identifier: String

    private var parameter: (name: String, value: String) {
        ("uploadId", PercentEncoding.encode(self.identifier.utf8, leaving: S3Address.segmentCharacters))
    }

    /// Begins an upload.
    ///
    /// - Parameter fields: The fields that the object keeps, such as `Content-Type`.
    static func begin(_ client: S3Client, _ fields: [BlobHTTPField]) async throws(BlobError) -> MultipartUpload {
        let call = S3Call(method: "POST", parameters: [("uploads", "")], fields: fields, isRepeatable: false)
        let identifier = try await client.send(call) { (answer) throws(BlobError) in
            let identifier = try answer.document("InitiateMultipartUploadResult").text(of: "UploadId") ?? ""
            guard !identifier.isEmpty else { throw S3Client.corrupted("no identifier of the upload") }
            return identifier
        }
        return MultipartUpload(client: client, identifier: identifier)
    }

    /// Returns the parts that the store has, by their numbers; nil when it does not know the upload.
    func parts() async throws(BlobError) -> [Int: Part]? {
        var (parts, marker): ([Int: Part], Int?) = ([:], 0)
        while let last = marker {
            let call = S3Call(parameters: [self.parameter] + (last > 0 ? [("part-number-marker", "\(last)")] : []))
            do throws(BlobError) {
                let document = try await self.client.send(call) { (answer) throws(BlobError) in
                    try answer.document("ListPartsResult")
                }
                for element in document.children where element.name.local == "Part" {
                    let part = try Self.part(element)
                    parts[part.number] = part
                }
                marker = nil
                if document.text(of: "IsTruncated") == "true" {
                    // One that does not grow would be asked for again and again.
                    guard let next = document.text(of: "NextPartNumberMarker").flatMap({ Int($0) }), next > last else {
                        throw S3Client.corrupted("half a list of parts")
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

    /// Returns one part that the store has; nil without it.
    func part(_ number: Int) async throws(BlobError) -> Part? {
        let call = S3Call(parameters: [
            ("max-parts", "1"), ("part-number-marker", "\(number - 1)"), self.parameter,
        ])
        return try await self.client.send(call) { (answer) throws(BlobError) in
            let list = try answer.document("ListPartsResult")
            let found = try list.children.filter { $0.name.local == "Part" }.map(Self.part)
            return found.first { $0.number == number }
        }
    }

    private static func part(_ element: MarkupElement) throws(BlobError) -> Part {
        guard let number = element.text(of: "PartNumber").flatMap({ Int($0) }), number > 0,
            let byteCount = element.text(of: "Size").flatMap({ Int64($0) }), byteCount >= 0,
            let tag = element.text(of: "ETag").map(EntityTag.text), !tag.isEmpty
        else { throw S3Client.corrupted("a part without number, size or tag") }
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
            let tag = try answer.tag(matching: digests, self.client.requests.address)
            return Part(number: number, byteCount: digests.byteCount, tag: tag)
        }
    }

    /// Makes the object of its parts.
    ///
    /// - Returns: The entity tag of the object.
    func complete(_ parts: [Part]) async throws(BlobError) -> String {
        let list = parts.map {
            "<Part><PartNumber>\($0.number)</PartNumber><ETag>\"\(Self.escaped($0.tag))\"</ETag></Part>"
        }
        let body = Data(
            ("<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">\(list.joined())"
                + "</CompleteMultipartUpload>").utf8)
        var call = S3Call(method: "POST", parameters: [self.parameter])
        call.fields = [BlobHTTPField("Content-Type", "application/xml")]
        call.payloadHash = PartDigests(of: body).sha256
        return try await self.client.send(call, MemorySource(body)) { (answer) throws(BlobError) in
            let tag = try answer.document("CompleteMultipartUploadResult").text(of: "ETag").map(EntityTag.text) ?? ""
            guard !tag.isEmpty else { throw S3Client.corrupted("no tag of the object") }
            return tag
        }
    }

    private static func escaped(_ text: String) -> String {
        text.replacing("&", with: "&amp;").replacing("<", with: "&lt;").replacing(">", with: "&gt;")
    }

    /// Has the store drop all parts, also when the job was cancelled or its time is up.
    ///
    /// - Throws: The error of the request that failed; the parts may still be there, and cost their owner money.
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
    /// Returns the request with a body that the store verifies by its digests.
    static func put(
        _ digests: PartDigests, parameters: [(name: String, value: String)] = [],
        fields: [BlobHTTPField] = [BlobHTTPField("Content-Type", "application/octet-stream")]
    ) -> S3Call {
        S3Call(
            method: "PUT", parameters: parameters,
            fields: fields + [BlobHTTPField("Content-MD5", digests.contentMD5)], payloadHash: digests.sha256)
    }
}

extension S3Client.Answer {
    /// Returns the entity tag without quotes, which is the MD5 unless the store encrypts, or has another kind of tag.
    ///
    /// - Throws: ``BlobError/Code/checksumMismatch``; ``BlobError/Code/corrupted`` without a tag.
    func tag(matching digests: PartDigests, _ address: S3Address) throws(BlobError) -> String {
        guard let tag = self.head.value(of: "etag").map(EntityTag.text), !tag.isEmpty else {
            throw S3Client.corrupted("no entity tag")
        }
        let encryption = self.head.value(of: "x-amz-server-side-encryption") ?? "AES256"
        let isDigest =
            encryption == "AES256" && self.head.value(of: "x-amz-server-side-encryption-customer-algorithm") == nil
            && EntityTag.isMD5(tag) && !address.bucket.hasSuffix("--x-s3")
        guard !isDigest || tag.lowercased() == digests.md5.hexadecimal else {
            throw BlobError(
                .checksumMismatch,
                "The store has bytes with the MD5 \(tag), not those with \(digests.md5.hexadecimal) that were sent.",
                operation: "write", isTransient: true)
        }
        return tag
    }
}

/// An object that a store makes of parts, and the checks that it has the bytes that it accepted.
struct MultipartCompletion: Sendable {
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

    /// Compares the object that was sent with the one in the store.
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
