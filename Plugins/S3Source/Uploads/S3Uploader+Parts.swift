package import BlobCore
import BlobTransfer

extension S3Uploader {
    /// Returns the object at a locator if its tag proves that it is the source; nil if it does not, or cannot be asked
    /// for.
    ///
    /// A tag proves it as the MD5 of the bytes, or as that of parts of ``partByteCount``. Those of encrypted objects,
    /// and of parts of another size, prove nothing.
    ///
    /// - Throws: The errors of the source.
    package func existing(
        _ source: any BlobInputStreamDataSource, at locator: String, _ context: BlobContext
    ) async throws(BlobError) -> StoredObject? {
        // An error comes again when the source is stored, which has the repetitions.
        var asking = self
        asking.maximumRetryCount = 0
        let job = try S3UploadJob(asking, source, Self.address(locator), context)
        guard source.traits.contains(.repeatable), let found = try? await ObjectOfParts(client: job.client).stored()
        else { return nil }
        let info = try await job.reading { () throws(BlobError) in try source.info(context) }
        let plan = try PartPlan(partByteCount: self.partByteCount, byteCount: info.byteCount, limits: self.limits)
        return try await job.isSource(found, plan, info) ? found : nil
    }

    /// The number of times that a list without some parts is asked for again.
    private static let maximumListCount = 2

    /// Begins an upload in parts of ``partByteCount``, for a source that other processes can read as well.
    ///
    /// - Returns: The upload, and the bytes of each part; nil for a source of one part at most, and for one that is not
    ///   surely the same in all processes: without random access, or without a strong validator.
    /// - Throws: The errors of ``upload(_:to:context:)``.
    package func begin(
        _ source: any BlobInputStreamDataSource, to locator: String, _ context: BlobContext
    ) async throws(BlobError) -> (upload: DividedUpload, parts: [Range<Int64>])? {
        try self.validate()
        let job = try S3UploadJob(self, source, Self.address(locator), context)
        let info = try await job.reading { () throws(BlobError) in try source.info(context) }
        guard let byteCount = info.byteCount, let validator = info.validator, validator.isStrong, info.isRandomAccess,
            source.traits.contains(.repeatable)
        else { return nil }
        let plan = try PartPlan(partByteCount: self.partByteCount, byteCount: byteCount, limits: self.limits)
        guard let count = plan.count, count > 1 else { return nil }
        let begun = try await job.begin(plan, info)
        let upload = DividedUpload(
            object: locator, identifier: begun.identifier, byteCount: byteCount, partByteCount: plan.partByteCount,
            validator: validator.token)
        return (upload, (1...count).map(plan.range))
    }

    /// Stores a part of a source, unless the store has it.
    ///
    /// - Parameter number: The number of the part, from 1.
    /// - Returns: The bytes of the part, and its entity tag without quotes.
    /// - Throws: The errors of ``upload(_:to:context:)``: ``BlobError/Code/changed`` when the source is no longer that
    ///   of the beginning, ``BlobError/Code/notFound`` when the store does not have the upload any more.
    package func store(
        _ number: Int, of upload: DividedUpload, _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) async throws(BlobError) -> (range: Range<Int64>, entityTag: String) {
        try self.validate()
        let plan = try upload.plan(self.limits)
        guard let count = plan.count, (1...count).contains(number) else {
            throw BlobError(.invalidArgument, "There is no part \(number).", operation: "write")
        }
        let job = try S3UploadJob(self, source, Self.address(upload.object), context)
        let known = BlobInfo(byteCount: upload.byteCount, validator: .strong(upload.validator), isRandomAccess: true)
        let begun = MultipartUpload(client: job.client, identifier: upload.identifier)
        let stored = try await begun.part(number)
        let parts = SlicedParts(job: job, plan: plan, info: known, stored: stored.map { [number: $0] } ?? [:])
        return (plan.range(of: number), try await parts.store(number, of: begun).part.tag)
    }

    /// Makes the object of the parts that the store has.
    ///
    /// If it does not know the upload, the object may be there already, by a call whose answer was lost. Then it is
    /// compared with the source: by its tag, or else by the SHA-256 of its bytes, which the store sends back.
    ///
    /// - Parameter source: Returns the source; called when there is something to compare.
    /// - Returns: The object, and whether this call has made it.
    /// - Throws: The errors of ``upload(_:to:context:)``; ``BlobError/Code/truncated`` when a part is missing;
    ///   ``BlobError/Code/changed`` when the store has another object.
    package func finish(
        _ upload: DividedUpload, of source: @escaping @Sendable () throws -> any BlobInputStreamDataSource,
        _ context: BlobContext
    ) async throws(BlobError) -> (object: StoredObject, isNew: Bool) {
        try self.validate()
        let plan = try upload.plan(self.limits)
        let client = try self.client(of: Self.address(upload.object), context)
        let begun = MultipartUpload(client: client, identifier: upload.identifier)
        let object = ObjectOfParts(client: client)
        guard let parts = try await self.parts(of: begun, plan, context) else {
            let found = try await object.stored()
            guard try await self.is(found, source, of: upload, plan, context) else {
                throw BlobError(
                    .changed, "The store does not have the upload any more, and has another object.",
                    operation: "write", locator: upload.object)
            }
            return (found, false)
        }
        do throws(BlobError) {
            // The tags tell nothing about the source: each was compared when the part was stored.
            return (try await object.make(of: parts.map { FinishedPart(part: $0, md5: []) }, begun), true)
        } catch {
            guard let found = try? await object.stored() else { throw error }
            let digests = parts.compactMap { EntityTag.md5($0.tag) }
            let isMade =
                digests.count == parts.count && found.byteCount == plan.byteCount
                && found.entityTag.lowercased() == EntityTag.combined(digests)
            if isMade { return (found, true) }
            guard (try? await self.is(found, source, of: upload, plan, context)) == true else { throw error }
            return (found, true)
        }
    }

    /// Returns true when an object of the store is the source of an upload.
    private func `is`(
        _ object: StoredObject, _ source: @escaping @Sendable () throws -> any BlobInputStreamDataSource,
        of upload: DividedUpload, _ plan: PartPlan, _ context: BlobContext
    ) async throws(BlobError) -> Bool {
        guard object.byteCount == upload.byteCount else { return false }
        let source = try await BlockingPool.reads.value { () throws(BlobError) in
            do {
                return try source()
            } catch {
                throw BlobError(wrapping: error)
            }
        }
        let job = try S3UploadJob(self, source, Self.address(upload.object), context)
        let info = BlobInfo(byteCount: upload.byteCount, validator: .strong(upload.validator))
        if try await job.isSource(object, plan, info) { return true }
        return try await job.isSourceRead(object, info)
    }

    /// Returns all parts; nil when the store does not know the upload. A part may be in the list a while after it was
    /// stored.
    private func parts(
        of begun: MultipartUpload, _ plan: PartPlan, _ context: BlobContext
    ) async throws(BlobError) -> [MultipartUpload.Part]? {
        let numbers = 1...(plan.count ?? 1)
        var pauses = (0..<Self.maximumListCount).map { self.firstPause * (1 << $0) }[...]
        while true {
            guard let stored = try await begun.parts() else { return nil }
            let missing = numbers.first { stored[$0]?.byteCount != Int64(plan.range(of: $0).count) }
            guard let missing else { return numbers.compactMap { stored[$0] } }
            guard let pause = pauses.popFirst() else {
                throw BlobError(
                    .truncated, "Part \(missing) of \(numbers.count) is not in the store.", operation: "write",
                    locator: begun.client.requests.address.text, isTransient: false)
            }
            try await context.sleep(for: pause)
        }
    }

    /// Has the store drop the parts of an upload, unless it is finished.
    package func abort(_ upload: DividedUpload, _ context: BlobContext) async throws(BlobError) {
        let client = try self.client(of: Self.address(upload.object), context)
        try await MultipartUpload(client: client, identifier: upload.identifier).abort()
    }
}
