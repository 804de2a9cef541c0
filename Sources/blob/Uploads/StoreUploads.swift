import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The uploads of sources to a store with the interface of S3.
struct StoreUploads: Sendable {
    /// The longest time in seconds for an interrupted job to abort its uploads, as ``S3Uploader`` has it.
    private static let abortLimit: UInt32 = 30

    private let uploader: S3Uploader
    private let upload: BlobUploadRequest
    private let jobs: Int
    private let resumable: ResumableOptions

    /// - Parameter upload: The limits and the fields of all objects.
    init(
        _ upload: BlobUploadRequest, _ store: S3Source.Options, _ request: UploadOptions, _ list: ListOptions,
        _ resumable: ResumableOptions
    ) throws(BlobError) {
        var uploader = try S3Uploader(store)
        uploader.pace = upload.pace
        if let idleLimit = upload.idleLimit { uploader.idleLimit = idleLimit }
        if let retry = request.retry { uploader.maximumRetryCount = retry }
        (self.uploader, self.upload, self.jobs, self.resumable) = (uploader, upload, list.jobs, resumable)
    }

    /// Uploads one source, and blocks this thread.
    ///
    /// - Parameter words: The names of the source, which tell its state from that of others.
    func run(
        _ source: any BlobInputStreamDataSource, words: [String], _ url: String, _ output: AnswerOutput,
        _ context: BlobContext
    ) throws {
        let failure = Locked<BlobError?>(nil)
        self.block {
            do throws(BlobError) {
                try await self.store(source, words, url, 0, partsAtOnce: self.jobs, output, context)
            } catch {
                failure.withLock { $0 = error }
            }
        }
        if let failure = failure.withLock({ $0 }) { throw failure }
        try output.commit()
    }

    /// Uploads many sources, some at once, and blocks this thread.
    ///
    /// - Throws: The error of the only source, and that of a job that is over; otherwise, after all errors are printed,
    ///   the status of the first one that repeating does not help against, or of the first.
    func run(_ items: UploadItems, _ sources: ArgumentSources, _ output: AnswerOutput, _ context: BlobContext) throws {
        let errors = Locked(items.errors)
        let all = items.items
        if all.count == 1, items.errors.isEmpty {
            return try self.run(all[0].source(sources, context), words: [all[0].name], all[0].url, output, context)
        }
        for error in items.errors { output.report(error) }
        let next = Locked(0)
        self.block {
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<min(self.jobs, all.count) {
                    group.addTask {
                        while case let number = next.withLock({ $0.postIncrement() }), number < all.count {
                            do throws(BlobError) {
                                try context.check()
                                let source = try all[number].source(sources, context)
                                try await self.store(
                                    source, [all[number].name], all[number].url, number, partsAtOnce: 1, output,
                                    context)
                            } catch {
                                guard (try? context.check()) != nil else { return }
                                output.report(error)
                                errors.withLock { $0.append(error) }
                            }
                        }
                    }
                }
            }
        }
        try context.check()
        try output.commit()
        let found = errors.withLock { $0 }
        if let worst = found.first(where: { !$0.isTransient }) ?? found.first {
            throw ExitCode(worst.code.exitStatus)
        }
    }

    private func block(_ body: @escaping @Sendable () async -> Void) {
        // Parts that are left behind cost their owner money.
        if !self.resumable.isOn { Interrupts.setCleanupLimit(Self.abortLimit) }
        let ended = WaitSignal()
        BlockingPool.openings.runTasks {
            await body()
            ended.signal()
        }
        _ = ended.wait(for: nil)
    }

    private func store(
        _ source: any BlobInputStreamDataSource, _ words: [String], _ url: String, _ number: Int, partsAtOnce: Int,
        _ output: AnswerOutput, _ context: BlobContext
    ) async throws(BlobError) {
        var (uploader, upload) = (self.uploader, self.upload)
        try upload.setMediaType(of: source, nil, context)
        (uploader.fields, uploader.maximumPartsAtOnce) = (upload.fields, partsAtOnce)
        if self.resumable.isOn {
            let place = [url, FileManager.default.currentDirectoryPath]
            uploader.stateFile = self.resumable.statePath(of: place + words)
        }
        uploader.onProgress = { sent, byteCount in output.show(number, sent, of: byteCount) }
        uploader.onAttempt = output.reportAttempt
        let object = try await uploader.upload(source, to: url, context: context)
        try output.end(number, line: "\(object.entityTag)  \(object.locator)")
    }
}

extension Int {
    /// Adds one, and returns the value before.
    fileprivate mutating func postIncrement() -> Int {
        defer { self += 1 }
        return self
    }
}
