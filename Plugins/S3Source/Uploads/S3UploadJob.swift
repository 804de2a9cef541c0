import BlobCore
import BlobPlatform
import BlobTransfer

/// The upload of one source, from its description to the check of the object.
struct S3UploadJob: Sendable {
    /// The longest time for cleaning up after an error.
    private static let abortLimit = Duration.seconds(30)

    let settings: S3Uploader
    let source: any BlobInputStreamDataSource
    let context: BlobContext
    let client: S3Client
    let progress: PartProgress
    private let address: S3Address
    private let stateFile: StateFile<S3UploadState>?

    init(
        _ settings: S3Uploader, _ source: any BlobInputStreamDataSource, _ address: S3Address, _ context: BlobContext
    ) throws(BlobError) {
        (self.settings, self.source, self.address, self.context) = (settings, source, address, context)
        var limits = S3Client.Limits()
        (limits.firstPause, limits.maximumRetryCount) = (settings.firstPause, settings.maximumRetryCount)
        limits.idleLimit = settings.idleLimit
        limits.onRetry = { error, number, limit in
            settings.onRetry?(error)
            settings.onAttempt?(error, number, limit)
        }
        limits.bytesPerSecond = settings.rateLimit
        self.client = S3Client(S3Requests(address, settings.store), try BlobUploader(), limits, context)
        self.stateFile = settings.stateFile.map { StateFile(path: $0) }
        self.progress = PartProgress(settings.onProgress)
    }

    func run() async throws(BlobError) -> S3Uploader.StoredObject {
        let info = try await self.reading { () throws(BlobError) in try self.source.info(self.context) }
        self.progress.begin(info.byteCount)
        let plan = try PartPlan(
            partByteCount: self.settings.partByteCount, byteCount: info.byteCount, limits: self.settings.limits)
        let isSingle = info.byteCount.map { $0 <= self.settings.singleByteCount } ?? false
        let hasParts = self.source.traits.isSuperset(of: [.repeatable, .concurrentReaders]) && info.isRandomAccess
        let state = try await self.state(plan, info)
        if isSingle, self.source.traits.contains(.repeatable) { return try await self.storeWhole(info) }
        let mustBuffer = isSingle || !hasParts || info.byteCount == nil
        guard !mustBuffer || plan.partByteCount <= S3Uploader.maximumBufferByteCount else {
            throw BlobError(
                .limitExceeded,
                "A part of \(plan.partByteCount) bytes would be kept in memory; "
                    + "\(S3Uploader.maximumBufferByteCount) is the limit.")
        }
        var (upload, stored): (MultipartUpload?, [Int: MultipartUpload.Part]) = (nil, [:])
        if let state {
            let known = MultipartUpload(client: self.client, identifier: state.identifier)
            if let parts = try await known.parts() {
                (upload, stored) = (known, parts)
            } else if !mustBuffer, let object = try await self.objectOfEarlierRun(plan, info) {
                self.stateFile?.remove()
                return object
            }
        }
        if mustBuffer {
            return try await BufferedParts(job: self, plan: plan, info: info, stored: stored).store(upload)
        }
        return try await SlicedParts(job: self, plan: plan, info: info, stored: stored).store(upload)
    }

    /// Makes a call that may block, while no thread of tasks waits.
    func reading<Value: Sendable>(
        _ body: @escaping @Sendable () throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        try await BlockingPool.reads.value(body)
    }

    /// The fields of the object.
    func fields(_ info: BlobInfo) -> [BlobHTTPField] {
        guard !self.settings.fields.contains(where: { $0.name.lowercased() == "content-type" }) else {
            return self.settings.fields
        }
        return self.settings.fields + [BlobHTTPField("Content-Type", info.mediaType ?? "application/octet-stream")]
    }

    // MARK: One request

    private func storeWhole(_ info: BlobInfo) async throws(BlobError) -> S3Uploader.StoredObject {
        let context = self.context.blocking
        let digests = try await self.reading { () throws(BlobError) in
            try PartDigests(of: self.source, matching: info.validator, context)
        }
        return try await self.storeWhole(self.source, matching: info.validator, digests, info)
    }

    /// Stores the object by one request.
    func storeWhole(
        _ body: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ digests: PartDigests,
        _ info: BlobInfo
    ) async throws(BlobError) -> S3Uploader.StoredObject {
        let call = S3Call.put(digests, fields: self.fields(info))
        let tag = try await self.client.send(
            call, body, matching: validator, onProgress: { self.progress.note(1, $0) }
        ) { (answer) throws(BlobError) in try answer.tag(matching: digests, self.address) }
        guard tag.lowercased() != digests.md5.hexadecimal else { return self.object(digests.byteCount, tag) }
        return try await self.checked(digests.byteCount, tag)
    }

    // MARK: Parts

    /// Begins an upload in parts, and notes it in the state.
    func begin(_ plan: PartPlan, _ info: BlobInfo) async throws(BlobError) -> MultipartUpload {
        let upload = try await MultipartUpload.begin(self.client, self.fields(info))
        guard let stateFile, let validator = info.validator else { return upload }
        let state = S3UploadState(
            object: self.address.text, identifier: upload.identifier, partByteCount: plan.partByteCount,
            byteCount: plan.byteCount, isStrong: validator.isStrong, validator: validator.token)
        do throws(BlobError) {
            try await self.reading { () throws(BlobError) in try stateFile.store(state) }
        } catch {
            await self.abort(upload)
            throw error
        }
        return upload
    }

    /// Stores a part, unless the store has it.
    func store(
        _ number: Int, of upload: MultipartUpload, _ body: any BlobInputStreamDataSource,
        matching validator: BlobValidator?, _ digests: PartDigests, _ stored: MultipartUpload.Part?
    ) async throws(BlobError) -> FinishedPart {
        let isStored = stored.map { part in
            // A tag that is no MD5 says nothing about the content, which the validator vouches for.
            part.byteCount == digests.byteCount
                && (!EntityTag.isMD5(part.tag) || part.tag.lowercased() == digests.md5.hexadecimal)
        }
        if let stored, isStored == true {
            self.progress.note(number, digests.byteCount)
            return FinishedPart(part: stored, md5: digests.md5)
        }
        let part = try await upload.store(number, body, matching: validator, digests) { self.progress.note(number, $0) }
        return FinishedPart(part: part, md5: digests.md5)
    }

    /// Makes the object of its parts, and checks it.
    func finish(
        _ upload: MultipartUpload, _ parts: [FinishedPart]
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
        self.stateFile?.remove()
        guard tag.lowercased() != expected else { return self.object(byteCount, tag) }
        if let expected, EntityTag.isCombined(tag) {
            throw BlobError(
                .checksumMismatch, "The store made an object with the tag \(tag) of parts with \(expected).",
                operation: "write", locator: self.address.text)
        }
        return try await self.checked(byteCount, tag)
    }

    /// Runs `body`, and aborts the upload if it fails and no state is kept.
    func aborting<Value: Sendable>(
        _ upload: MultipartUpload, _ body: () async throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        do throws(BlobError) {
            return try await body()
        } catch {
            if self.stateFile == nil { await self.abort(upload) }
            throw error
        }
    }

    /// Aborts an upload, even after a cancellation.
    private func abort(_ upload: MultipartUpload) async {
        let context = BlobContext(deadline: .now + Self.abortLimit)
        let client = S3Client(self.client.requests, self.client.uploader, self.client.limits, context)
        try? await MultipartUpload(client: client, identifier: upload.identifier).abort()
    }

    // MARK: The state

    /// Returns the state of the same upload in an earlier run; that of another one is removed.
    private func state(_ plan: PartPlan, _ info: BlobInfo) async throws(BlobError) -> S3UploadState? {
        guard let stateFile else { return nil }
        guard self.source.traits.contains(.repeatable), let validator = info.validator else {
            throw BlobError(
                .unsupported, "An upload that continues later needs a source that can be read and compared again.",
                locator: self.source.locator?.description)
        }
        let found = try await self.reading { () throws(BlobError) in stateFile.load() }
        guard let found, found.object == self.address.text else { return nil }
        if found.identity == validator, found.byteCount == plan.byteCount, found.partByteCount == plan.partByteCount {
            return found
        }
        await self.abort(MultipartUpload(client: self.client, identifier: found.identifier))
        stateFile.remove()
        return nil
    }

    /// Returns the object if an earlier run was killed after the store had made it.
    private func objectOfEarlierRun(
        _ plan: PartPlan, _ info: BlobInfo
    ) async throws(BlobError) -> S3Uploader.StoredObject? {
        guard let object = try? await self.stored(), object.byteCount == plan.byteCount,
            EntityTag.isCombined(object.entityTag), object.entityTag.hasSuffix("-\(plan.count ?? 0)")
        else { return nil }
        let digests = try await SlicedParts(job: self, plan: plan, info: info, stored: [:]).digests()
        return EntityTag.combined(digests.map(\.md5)) == object.entityTag.lowercased() ? object : nil
    }

    // MARK: The object

    private func object(_ byteCount: Int64, _ tag: String) -> S3Uploader.StoredObject {
        S3Uploader.StoredObject(locator: self.address.text, byteCount: byteCount, entityTag: tag)
    }

    /// Returns the object that the store has.
    private func stored() async throws(BlobError) -> S3Uploader.StoredObject {
        try await self.client.send(S3Call(method: "HEAD")) { (answer) throws(BlobError) in
            guard let byteCount = answer.head.contentLength, let tag = answer.head.value(of: "etag") else {
                throw S3Client.corrupted("an object without length or tag")
            }
            return self.object(byteCount, EntityTag.text(tag))
        }
    }

    /// Compares an object that was stored with that of the store.
    private func checked(_ byteCount: Int64, _ tag: String) async throws(BlobError) -> S3Uploader.StoredObject {
        let (object, expected) = (try await self.stored(), self.object(byteCount, tag))
        guard object == expected else {
            throw BlobError(
                .changed,
                "The store has \(object.byteCount) bytes with the tag \(object.entityTag), not the "
                    + "\(byteCount) with \(tag) that it accepted.", operation: "write", locator: self.address.text)
        }
        return object
    }
}

/// A part that the store has, with the MD5 of the source.
struct FinishedPart: Sendable {
    let part: MultipartUpload.Part
    let md5: [UInt8]
}
