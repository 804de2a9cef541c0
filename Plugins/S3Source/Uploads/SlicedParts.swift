import BlobCore
import BlobTransfer

/// The parts of a source with random access, several of which are read and sent at once.
struct SlicedParts: Sendable {
    let job: S3UploadJob
    let plan: PartPlan
    let info: BlobInfo
    let stored: [Int: MultipartUpload.Part]

    /// Stores all parts, and makes the object of them.
    func store(_ known: MultipartUpload?) async throws(BlobError) -> S3Uploader.StoredObject {
        let upload: MultipartUpload
        if let known { upload = known } else { upload = try await self.job.begin(self.plan, self.info) }
        return try await self.job.aborting(upload) { () throws(BlobError) in
            let parts = try await self.all { (number) throws(BlobError) in try await self.store(number, of: upload) }
            return try await self.job.finish(upload, parts)
        }
    }

    /// Stores a part, unless the store has it.
    func store(_ number: Int, of upload: MultipartUpload) async throws(BlobError) -> FinishedPart {
        let (body, validator) = self.part(number)
        let digests = try await self.digests(of: number)
        return try await self.job.store(number, of: upload, body, matching: validator, digests, self.stored[number])
    }

    private func part(_ number: Int) -> (any BlobInputStreamDataSource, BlobValidator?) {
        let range = self.plan.range(of: number)
        // As a slice identifies itself.
        let recipe = "slice-\(range.lowerBound)-\(range.upperBound)"
        return (self.job.source.slice(range), self.info.validator.map { .combined(recipe, [$0]) })
    }

    private func digests(of number: Int) async throws(BlobError) -> PartDigests {
        let (body, validator) = self.part(number)
        let context = self.job.context.blocking
        return try await self.job.reading { () throws(BlobError) in
            try PartDigests(of: body, matching: validator, context)
        }
    }

    /// Runs a job for each part, some at once.
    ///
    /// - Returns: The results in the order of the parts.
    /// - Throws: The first error, which ends all jobs.
    private func all<Value: Sendable>(
        _ body: @escaping @Sendable (Int) async throws(BlobError) -> Value
    ) async throws(BlobError) -> [Value] {
        let count = self.plan.count ?? 1
        let isLimited = self.job.settings.rateLimit != nil || self.job.settings.pace != nil
        let workerCount = isLimited ? 1 : min(self.job.settings.maximumPartsAtOnce, count)
        let state = Locked(State<Value>())
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<workerCount {
                group.addTask {
                    while let number = state.withLock({ $0.next(count) }) {
                        let result: Result<Value, BlobError>
                        do throws(BlobError) {
                            result = .success(try await body(number))
                        } catch {
                            result = .failure(error)
                        }
                        let isFailure = state.withLock { $0.note(result, number) }
                        if isFailure { self.job.context.cancellation.cancel() }
                    }
                }
            }
        }
        return try state.withLock { state throws(BlobError) in
            if let failure = state.failure { throw failure }
            return (1...count).compactMap { state.values[$0] }
        }
    }

    private struct State<Value: Sendable>: Sendable {
        var last = 0
        var values: [Int: Value] = [:]
        var failure: BlobError?

        mutating func next(_ count: Int) -> Int? {
            guard self.failure == nil, self.last < count else { return nil }
            self.last += 1
            return self.last
        }

        /// Notes the result of a part; returns true for the first failure.
        mutating func note(_ result: Result<Value, BlobError>, _ number: Int) -> Bool {
            switch result {
            case .success(let value): self.values[number] = value
            case .failure(let error):
                guard self.failure == nil else { return false }
                self.failure = error
                return true
            }
            return false
        }
    }
}
