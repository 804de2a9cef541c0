import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The uploads of many sources, some at once.
final class ParallelUploads: Sendable {
    private struct State {
        var next = 0
        /// The error that gives the exit status: the first one that repeating does not help against, or the first.
        var worst: BlobError?
        /// The error that ended the job.
        var stop: BlobError?

        mutating func note(_ error: BlobError) {
            guard let worst else { return self.worst = error }
            if worst.isTransient, !error.isTransient { self.worst = error }
        }
    }

    /// The descriptors of this process beside those of uploads.
    private static let ownDescriptorCount = 32

    private let items: UploadItems
    private let upload: BlobUploadRequest
    private let options: UploadOptions
    private let list: ListOptions
    private let output: AnswerOutput
    private let sources: ArgumentSources
    private let journal: UploadJournal?
    private let offset: Int64
    private let state = Locked(State())

    /// - Parameter upload: The request that all have in common, to the URL of the folder.
    /// - Throws: ``BlobError/Code/invalidLocator`` for a URL that is not valid, and the errors of the journal.
    init(
        _ items: UploadItems, _ upload: BlobUploadRequest, _ options: UploadOptions, _ list: ListOptions,
        _ output: AnswerOutput, _ sources: ArgumentSources, offset: Int64
    ) throws(BlobError) {
        (self.items, self.upload, self.options, self.list) = (items, upload, options, list)
        (self.output, self.sources, self.offset) = (output, sources, offset)
        // One error instead of one for each source.
        _ = try TransferURL(upload.url)
        self.journal = if let path = list.journal { try UploadJournal(path: path) } else { nil }
    }

    /// Returns when all are done.
    ///
    /// - Throws: The error that ended the job; otherwise, after all errors are printed, the status of the worst one.
    func run(_ context: BlobContext) throws {
        for error in self.items.errors { self.note(error) }
        let count = self.jobCount
        let ended = WaitSignal()
        BlockingPool.openings.runTasks { [self] in
            await withTaskGroup(of: Void.self) { group in
                for _ in 0..<count {
                    group.addTask { while let number = self.next() { await self.process(number, context) } }
                }
            }
            ended.signal()
        }
        _ = ended.wait(for: nil)
        let (stop, worst) = self.state.withLock { ($0.stop, $0.worst) }
        if let stop { throw stop }
        try self.output.commit()
        if let worst { throw ExitCode(worst.code.exitStatus) }
    }

    /// The number of uploads at once: there are descriptors for a file and two connections of each.
    private var jobCount: Int {
        let count = min(self.list.jobs, self.items.items.count)
        let limit = raiseDescriptorLimit(to: Self.ownDescriptorCount + 3 * count)
        return min(count, max(1, (limit - Self.ownDescriptorCount) / 3))
    }

    private func next() -> Int? {
        self.state.withLock { state in
            guard state.stop == nil, state.next < self.items.items.count else { return nil }
            state.next += 1
            return state.next - 1
        }
    }

    private func note(_ error: BlobError) {
        self.output.report(error)
        self.state.withLock { $0.note(error) }
    }

    private nonisolated(nonsending) func process(_ number: Int, _ context: BlobContext) async {
        do throws(BlobError) {
            // Opening, comparing and printing may block.
            guard
                let upload = try await BlockingPool.openings.value({ () throws(BlobError) in
                    try self.prepare(number, context)
                })
            else { return }
            let (result, facts) = await upload.request.run(upload.body, matching: upload.validator, context)
            try await BlockingPool.openings.value { () throws(BlobError) in try self.finish(upload, result, facts) }
        } catch {
            // Without standard output, and after the end of the job, there is nothing left to do.
            let isOver = (try? context.check()) == nil || error.operation == "write" && error.locator == nil
            guard isOver else { return self.note(error) }
            self.state.withLock { $0.stop = $0.stop ?? error }
        }
    }

    /// An upload whose source is open.
    private struct Prepared: Sendable {
        let number: Int
        /// The URL as the journal has it; nil without one.
        let url: String?
        let source: any BlobInputStreamDataSource
        let info: BlobInfo
        let request: MeasuredUpload
        let body: any BlobInputStreamDataSource
        let validator: BlobValidator?
        let digest: Locked<String?>
    }

    /// Returns what is to be sent; nil for what is there already.
    private func prepare(_ number: Int, _ context: BlobContext) throws(BlobError) -> Prepared? {
        let item = self.items.items[number]
        let source = try item.source(self.sources, context)
        let info = try source.info(context)
        var upload = self.upload
        upload.url = item.url
        let url = try self.journal.map { (_) throws(BlobError) in try TransferURL(item.url).text }
        if let url, let entry = self.journal?.entry(url, info, source.locator), self.has(entry, info, upload, context) {
            try self.output.end(number, line: Self.skippedLine(String(entry.digest), item))
            return nil
        }
        let found = Locked<String?>(nil)
        if try self.isThere(source, upload, context, found) {
            let digest = found.withLock { $0 }
            if let digest, let url { try self.journal?.append(url, info, source.locator, digest) }
            try self.output.end(number, line: Self.skippedLine(digest ?? "-", item))
            return nil
        }
        let isBody = self.offset == 0 && self.options.contentEncoding == .identity
        try upload.setMediaType(of: source, info, isBody: isBody, context)
        let part: any BlobInputStreamDataSource =
            self.offset != 0 ? source.slice(try ByteOffset.start(self.offset, in: source, context)...) : source
        let hashed = part.hashing(with: CryptoDigest.sha256) { digest in found.withLock { $0 = digest.hexadecimal } }
        let body = try self.options.contentEncoding.encode(hashed, &upload, context)
        // The layer that hashes has the validator of its base.
        let validator = isBody ? info.validator : self.offset != 0 ? nil : try body.info(context).validator
        return Prepared(
            number: number, url: url, source: source, info: info,
            request: try MeasuredUpload(upload, self.options, self.output, number: number), body: body,
            validator: validator, digest: found)
    }

    private func finish(
        _ upload: Prepared, _ result: Result<BlobUploadResponse, BlobError>, _ facts: RequestFacts
    ) throws(BlobError) {
        guard case .success(let response) = result else {
            try self.output.end(upload.number, facts)
            _ = try result.get()
            return
        }
        let digest = upload.digest.withLock { $0 } ?? ""
        if self.offset == 0, let url = upload.url {
            try self.journal?.append(
                url, upload.info, upload.source.locator, digest, tag: response.value(of: "etag"))
        }
        let line = Self.line(digest, self.items.items[upload.number])
        try self.output.end(upload.number, line: line, facts, answer: response.body)
    }

    private static func line(_ digest: String, _ item: UploadItem) -> String {
        "\(digest)  \(printableArgument(item.name))"
    }

    /// The line of a source that was not sent.
    private static func skippedLine(_ digest: String, _ item: UploadItem) -> String {
        "already there: \(self.line(digest, item))"
    }

    /// The statuses of servers that do not know HEAD.
    private static let unknownMethodStatuses: Set = [405, 501]

    /// Returns true when the server still has the object of an entry of the journal, as far as it tells.
    private func has(
        _ entry: UploadJournal.Entry, _ info: BlobInfo, _ upload: BlobUploadRequest, _ context: BlobContext
    ) -> Bool {
        // The URL of a POST is not that of the object.
        guard upload.method == .put else { return true }
        // An error comes again with the upload.
        guard let head = try? TransferRequest(asking: upload).head(context) else { return false }
        let byteCount = self.options.contentEncoding == .identity ? info.byteCount : nil
        return Self.unknownMethodStatuses.contains(head.status) || entry.isAlike(head, byteCount)
    }

    private func isThere(
        _ source: any BlobInputStreamDataSource, _ upload: BlobUploadRequest, _ context: BlobContext,
        _ found: Locked<String?>
    ) throws(BlobError) -> Bool {
        guard let check = self.list.skipExisting else { return false }
        do {
            return try check.isMet(source, TransferRequest(asking: upload), context) { digest in
                found.withLock { $0 = digest }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
