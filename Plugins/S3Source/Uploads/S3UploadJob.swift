import BlobCore
import BlobPlatform
import BlobTransfer

/// The upload of one source, from its description to the check of the object.
struct S3UploadJob: Sendable {
    let settings: S3Uploader
    let source: any BlobInputStreamDataSource
    let context: BlobContext
    let client: S3Client
    let progress: PartProgress
    private let address: S3Address
    private let stateFile: StateFile<S3UploadState>?
    private var object: MultipartCompletion { MultipartCompletion(client: self.client) }

    init(
        _ settings: S3Uploader, _ source: any BlobInputStreamDataSource, _ address: S3Address, _ context: BlobContext
    ) throws(BlobError) {
        (self.settings, self.source, self.address, self.context) = (settings, source, address, context)
        self.client = try settings.client(of: address, context)
        self.stateFile = settings.stateFile.map { StateFile(path: $0) }
        self.progress = PartProgress(settings.onProgress)
    }

    func run() async throws(BlobError) -> S3Uploader.StoredObject {
        let lock = try self.stateFile?.lock()
        defer { lock?.release() }
        let info = try await BlockingPool.reads.value { () throws(BlobError) in try self.source.info(self.context) }
        self.progress.begin(info.byteCount)
        let plan = try PartPlan(
            partByteCount: self.settings.partByteCount, byteCount: info.byteCount, limits: self.settings.limits)
        let isSingle = info.byteCount.map { $0 <= self.settings.singleByteCount } ?? false
        let hasParts = self.source.traits.isSuperset(of: [.repeatable, .concurrentReaders]) && info.isRandomAccess
        let state = try await self.state(plan, info)
        if isSingle, self.source.traits.contains(.repeatable) {
            let digests = try await self.digests(of: self.source, matching: info.validator)
            let object = try await self.storeWhole(self.source, matching: info.validator, digests, info)
            if let state { try? await MultipartUpload(client: self.client, identifier: state.identifier).abort() }
            self.stateFile?.remove()
            return object
        }
        let mustBuffer = isSingle || !hasParts || info.byteCount == nil
        guard !mustBuffer || plan.partByteCount <= S3Uploader.maximumBufferByteCount else {
            throw BlobError(
                .limitExceeded,
                "A part of \(plan.partByteCount) bytes would have to be kept in memory, but the limit is "
                    + "\(S3Uploader.maximumBufferByteCount) bytes.")
        }
        var (upload, stored): (MultipartUpload?, [Int: MultipartUpload.Part]) = (nil, [:])
        if let state {
            let known = MultipartUpload(client: self.client, identifier: state.identifier)
            if let parts = try await known.parts() {
                (upload, stored) = (known, parts)
            } else if !mustBuffer, let object = try? await self.object.storedObject(),
                try await self.isSource(object, plan, info)
            {
                // An earlier run was killed after the store had completed the object.
                self.settings.onCheck?(S3Client.check(false, true))
                self.stateFile?.remove()
                return object
            }
        }
        if mustBuffer {
            return try await SequentialPartUpload(job: self, plan: plan, info: info, storedParts: stored).store(upload)
        }
        return try await ConcurrentPartUpload(job: self, plan: plan, info: info, storedParts: stored).store(upload)
    }

    /// Computes the digests of a body without blocking a thread of the task pool.
    func digests(
        of body: any BlobInputStreamDataSource, matching validator: BlobValidator?
    ) async throws(BlobError) -> PartDigests {
        let context = self.context.blocking
        return try await BlockingPool.reads.value { () throws(BlobError) in
            try PartDigests(of: body, matching: validator, context)
        }
    }

    /// The header fields stored with the object.
    func fields(_ info: BlobInfo) -> [BlobHTTPField] {
        guard !self.settings.fields.contains(where: { $0.name.lowercased() == "content-type" }) else {
            return self.settings.fields
        }
        return self.settings.fields + [BlobHTTPField("Content-Type", info.mediaType ?? "application/octet-stream")]
    }

    // MARK: One request

    /// Stores the object with one request.
    func storeWhole(
        _ body: any BlobInputStreamDataSource, matching validator: BlobValidator?, _ digests: PartDigests,
        _ info: BlobInfo
    ) async throws(BlobError) -> S3Uploader.StoredObject {
        let call = S3Call.put(digests, fields: self.fields(info))
        let (tag, isCompared) = try await self.client.send(
            call, body, matching: validator, onProgress: { self.progress.record(1, $0) }
        ) { (answer) throws(BlobError) in try answer.tag(matching: digests, self.address) }
        let isMD5 = tag.lowercased() == digests.md5.hexadecimal
        let found = isMD5 ? nil : try await self.object.checkedObject(digests.byteCount, tag)
        self.settings.onCheck?(S3Client.check(isCompared, isMD5))
        return found ?? self.object.facts(digests.byteCount, tag)
    }

    // MARK: Parts

    /// Begins a multipart upload and records it in the state file.
    func begin(_ plan: PartPlan, _ info: BlobInfo) async throws(BlobError) -> MultipartUpload {
        let upload = try await MultipartUpload.begin(self.client, self.fields(info))
        guard let stateFile, let validator = info.validator else { return upload }
        let state = S3UploadState(
            object: self.address.text, identifier: upload.identifier, partByteCount: plan.partByteCount,
            byteCount: plan.byteCount, isStrong: validator.isStrong, validator: validator.token)
        do throws(BlobError) {
            try await BlockingPool.reads.value { () throws(BlobError) in try stateFile.store(state) }
        } catch {
            try? await upload.abort()
            throw error
        }
        return upload
    }

    /// Stores a part, unless it is already in the store.
    func store(
        _ number: Int, of upload: MultipartUpload, _ body: any BlobInputStreamDataSource,
        matching validator: BlobValidator?, _ digests: PartDigests, _ stored: MultipartUpload.Part?
    ) async throws(BlobError) -> FinishedPart {
        let isStored = stored.map { part in
            // A tag that is not an MD5 proves nothing about the content, whereas the validator does.
            part.byteCount == digests.byteCount
                && (!EntityTag.isMD5(part.tag) || part.tag.lowercased() == digests.md5.hexadecimal)
        }
        if let stored, isStored == true {
            self.progress.record(number, digests.byteCount)
            return FinishedPart(part: stored, md5: digests.md5, sum: digests.sum)
        }
        let part = try await upload.store(number, body, matching: validator, digests) {
            self.progress.record(number, $0)
        }
        return FinishedPart(part: part, md5: digests.md5, sum: digests.sum)
    }

    /// Completes the object and checks it.
    func finish(
        _ upload: MultipartUpload, _ parts: [FinishedPart]
    ) async throws(BlobError) -> S3Uploader.StoredObject {
        let (object, check) = try await self.object.create(from: parts, upload) { self.stateFile?.remove() }
        self.settings.onCheck?(check)
        return object
    }

    /// Runs `body`, and aborts the upload if `body` fails and no state file is used.
    func aborting<Value: Sendable>(
        _ upload: MultipartUpload, _ body: () async throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        do throws(BlobError) {
            return try await body()
        } catch {
            if self.stateFile == nil { try? await upload.abort() }
            throw error
        }
    }

    // MARK: The state

    /// Returns the state that an earlier run of the same upload saved.
    ///
    /// If the file contains the state of another upload, removes the state and aborts that upload.
    private func state(_ plan: PartPlan, _ info: BlobInfo) async throws(BlobError) -> S3UploadState? {
        guard let stateFile else { return nil }
        guard self.source.traits.contains(.repeatable), let validator = info.validator else {
            throw BlobError(
                .unsupported, "A resumable upload requires a source that can be read again and has a validator.",
                locator: self.source.locator?.description)
        }
        let found = try await BlockingPool.reads.value { () throws(BlobError) in stateFile.load() }
        guard let found else { return nil }
        let isSameObject = found.object == self.address.text
        if isSameObject, found.identity == validator, found.byteCount == plan.byteCount,
            found.partByteCount == plan.partByteCount
        {
            return found
        }
        let address = try? S3Uploader.address(found.object)
        let client = isSameObject ? self.client : try? address.map { try self.settings.client(of: $0, self.context) }
        if let client { try? await MultipartUpload(client: client, identifier: found.identifier).abort() }
        stateFile.remove()
        return nil
    }

    // MARK: Evidence

    /// Returns true if the tag of an object proves that the object equals the source.
    ///
    /// The tag is proof if it is the MD5 of the source, or the MD5 of the MD5s of its parts. Reads the source only if
    /// the lengths are equal and the tag has one of these forms.
    func isSource(
        _ object: S3Uploader.StoredObject, _ plan: PartPlan, _ info: BlobInfo
    ) async throws(BlobError) -> Bool {
        guard object.byteCount == info.byteCount else { return false }
        let (tag, context) = (object.entityTag.lowercased(), self.context.blocking)
        if EntityTag.isMD5(tag) {
            return try await self.digests(of: self.source, matching: info.validator).md5.hexadecimal == tag
        }
        guard EntityTag.isCombined(tag), tag.hasSuffix("-\(plan.count ?? 0)") else { return false }
        let digests = try await BlockingPool.reads.value { () throws(BlobError) in
            try PartDigests.md5s(of: self.source, plan, matching: info.validator, context)
        }
        return tag == EntityTag.combined(digests)
    }

    /// Downloads an object, and returns true if its bytes equal the source.
    func isSourceRead(_ object: S3Uploader.StoredObject, _ info: BlobInfo) async throws(BlobError) -> Bool {
        guard object.byteCount == info.byteCount else { return false }
        let context = self.context.blocking
        return try await BlockingPool.reads.value { () throws(BlobError) in
            let stored = S3Source(try BlobLocator(self.address.text), self.address, self.settings.service)
            let validator = try stored.info(context).validator
            guard validator?.token.filter({ $0 != "\"" }) == object.entityTag else { return false }
            return try PartDigests(of: stored, matching: validator, context)
                == PartDigests(of: self.source, matching: info.validator, context)
        }
    }
}

/// The facts that another process needs to continue a multipart upload.
struct S3UploadState: Codable, Equatable, Sendable {
    /// The locator of the object.
    var object: String
    /// The identifier that the store assigned to the upload.
    var identifier: String
    var partByteCount: Int64
    /// The length of the source in bytes; nil if unknown.
    var byteCount: Int64?
    /// True if the validator of the source is strong.
    var isStrong: Bool
    var validator: String

    /// The validator of the source.
    var identity: BlobValidator { self.isStrong ? .strong(self.validator) : .weak(self.validator) }
}
