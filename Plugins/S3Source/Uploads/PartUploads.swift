import BlobCore
import BlobPlatform
import BlobTransfer

/// An upload of a source with random access, which reads and sends several parts at once.
struct ConcurrentPartUpload: Sendable {
    let job: S3UploadJob
    let plan: PartPlan
    let info: BlobInfo
    let storedParts: [Int: MultipartUpload.Part]

    /// Stores all parts and completes the object.
    func store(_ known: MultipartUpload?) async throws(BlobError) -> S3Uploader.StoredObject {
        let upload = if let known { known } else { try await self.job.begin(self.plan, self.info) }
        return try await self.job.aborting(upload) { () throws(BlobError) in
            let isLimited = self.job.settings.rateLimit != nil || self.job.settings.allowance != nil
            let parts = try await concurrently(
                self.plan.count ?? 1, atOnce: isLimited ? 1 : self.job.settings.maximumPartsAtOnce,
                onFailure: self.job.context.cancellation.cancel
            ) { (number) async throws(BlobError) in try await self.store(number + 1, of: upload) }
            return try await self.job.finish(upload, parts)
        }
    }

    /// Stores a part, unless it is already in the store.
    func store(_ number: Int, of upload: MultipartUpload) async throws(BlobError) -> FinishedPart {
        let (body, validator) = self.part(number)
        let digests = try await self.job.digests(of: body, matching: validator)
        return try await self.job.store(
            number, of: upload, body, matching: validator, digests, self.storedParts[number])
    }

    private func part(_ number: Int) -> (any BlobInputStreamDataSource, BlobValidator?) {
        let range = self.plan.range(of: number)
        // The same form that a slice uses for its own validator.
        let recipe = "slice-\(range.lowerBound)-\(range.upperBound)"
        return (self.job.source.slice(range), self.info.validator.map { .combined(recipe, [$0]) })
    }
}

/// An upload of a source that is read once, from start to end, with one part at a time in memory.
struct SequentialPartUpload: Sendable {
    let job: S3UploadJob
    let plan: PartPlan
    let info: BlobInfo
    let storedParts: [Int: MultipartUpload.Part]

    /// Stores all parts and completes the object. If the source ends within its first part, makes a single request.
    func store(_ known: MultipartUpload?) async throws(BlobError) -> S3Uploader.StoredObject {
        let reader = PartReader(self.job, self.info.validator)
        defer { reader.close() }
        let first = try await reader.next(self.plan.partByteCount)
        if known == nil, first.isLast {
            return try await self.job.storeWhole(
                MemorySource(first.bytes), matching: nil, PartDigests(of: first.bytes), self.info)
        }
        let upload = if let known { known } else { try await self.job.begin(self.plan, self.info) }
        return try await self.job.aborting(upload) { () async throws(BlobError) in
            var (parts, next): ([FinishedPart], _) = ([], first)
            while true {
                if !next.bytes.isEmpty || parts.isEmpty {
                    try self.plan.check(parts.count + 1)
                    parts.append(
                        try await self.job.store(
                            parts.count + 1, of: upload, MemorySource(next.bytes), matching: nil,
                            PartDigests(of: next.bytes), self.storedParts[parts.count + 1]))
                }
                if next.isLast { break }
                next = (Data(), false)  // Freed before the next part is read.
                next = try await reader.next(self.plan.partByteCount)
            }
            return try await self.job.finish(upload, parts)
        }
    }
}

/// Reads a source part by part, on threads of the pool.
private final class PartReader: @unchecked Sendable {  // Safe: its owner makes one call at a time.
    private static let stepByteCount = 256 * 1024

    private let job: S3UploadJob
    private let validator: BlobValidator?
    private var reader: BlobReader?

    init(_ job: S3UploadJob, _ validator: BlobValidator?) { (self.job, self.validator) = (job, validator) }

    /// Returns the next bytes, and true if the source has ended.
    func next(_ byteCount: Int64) async throws(BlobError) -> (bytes: Data, isLast: Bool) {
        try await BlockingPool.reads.value { () throws(BlobError) in
            try BlobError.wrapping { try self.read(Int(clamping: byteCount)) }
        }
    }

    private func read(_ byteCount: Int) throws -> (bytes: Data, isLast: Bool) {
        let context = self.job.context.blocking
        let reader = try self.reader ?? self.job.source.open(matching: self.validator, context: context)
        self.reader = reader
        var bytes = Data()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: Self.stepByteCount, alignment: 16)
        defer { buffer.deallocate() }
        while bytes.count < byteCount {
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer.prefix(byteCount - bytes.count))
            let count = try reader.readBlocking(into: room)
            guard count > 0 else { return (bytes, true) }
            bytes.append(contentsOf: UnsafeRawBufferPointer(rebasing: room[..<count]))
        }
        return (bytes, false)
    }

    func close() { self.reader?.close() }
}

/// The number of bytes sent in all parts together.
final class PartProgress: Sendable {
    private struct State {
        var byteCount: Int64?
        var totalByteCount: Int64 = 0
        var byteCounts: [Int: Int64] = [:]
    }

    private let state = Locked(State())
    private let handler: (@Sendable (Int64, Int64?) -> Void)?

    init(_ handler: (@Sendable (Int64, Int64?) -> Void)?) { self.handler = handler }

    func begin(_ byteCount: Int64?) { self.state.withLock { $0.byteCount = byteCount } }

    /// Records the number of bytes sent for a part.
    func record(_ number: Int, _ count: Int64) {
        guard let handler else { return }
        let (sum, byteCount) = self.state.withLock { state in
            state.totalByteCount += count - (state.byteCounts.updateValue(count, forKey: number) ?? 0)
            return (state.totalByteCount, state.byteCount)
        }
        handler(sum, byteCount)
    }
}
