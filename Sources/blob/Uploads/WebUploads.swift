#if Command
import ArgumentParser
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// Uploads many sources to a web server, and prints the digest of each source that is sent.
final class WebUploads: Sendable {
    /// The number of this process's descriptors that do not belong to an upload.
    private static let ownDescriptorCount = 32

    private let items: UploadItems
    private let upload: BlobUploadRequest
    private let options: UploadOptions
    private let list: ListOptions
    private let output: AnswerOutput
    private let sources: ArgumentSources
    private let journal: UploadJournal?
    private let offset: Int64
    private let hasWarnedAboutDigests = Locked(false)

    /// - Parameter upload: The request common to all uploads, with the folder's URL.
    /// - Throws: ``BlobError/Code/invalidLocator`` for an invalid URL; the errors of the journal.
    init(
        _ items: UploadItems, _ upload: BlobUploadRequest, _ options: UploadOptions, _ list: ListOptions,
        _ output: AnswerOutput, _ sources: ArgumentSources, offset: Int64
    ) throws(BlobError) {
        (self.items, self.upload, self.options, self.list) = (items, upload, options, list)
        (self.output, self.sources, self.offset) = (output, sources, offset)
        // Reports one error instead of one for each source.
        _ = try TransferURL(upload.url)
        self.journal = if let path = list.journal { try UploadJournal(path: path) } else { nil }
    }

    /// Uploads all items, blocking this thread.
    ///
    /// - Throws: The errors of ``ParallelUploads/run(atOnce:_:_:)``.
    func run(_ context: BlobContext) throws {
        try ParallelUploads(self.items, self.output).run(atOnce: self.jobCount, context) {
            [self] (number, item) async throws(BlobError) in
            // Opening, comparing and printing may block a thread.
            let prepared = try await BlockingPool.openings.value { () throws(BlobError) in
                try self.prepare(number, item, context)
            }
            guard let prepared else { return }
            let (result, facts) = await prepared.request.run(prepared.body, matching: prepared.validator, context)
            try await BlockingPool.openings.value { () throws(BlobError) in
                try self.finish(prepared, item, result, facts)
            }
        }
    }

    /// The number of concurrent uploads, limited by the number of descriptors: each needs a file and two connections.
    private var jobCount: Int {
        let count = min(self.list.jobs, self.items.items.count)
        let limit = raiseDescriptorLimit(to: Self.ownDescriptorCount + 3 * count)
        return min(count, max(1, (limit - Self.ownDescriptorCount) / 3))
    }

    /// An upload whose source is already open.
    private struct Prepared: Sendable {
        let number: Int
        /// The URL in the journal's form; nil without a journal.
        let url: String?
        let source: any BlobInputStreamDataSource
        let info: BlobInfo
        let request: TimedUpload
        let body: any BlobInputStreamDataSource
        let validator: BlobValidator?
        let digest: Locked<String?>
    }

    /// Returns the upload of an item; nil if the server already has the object.
    private func prepare(
        _ number: Int, _ item: UploadItem, _ context: BlobContext
    ) throws(BlobError) -> Prepared? {
        let source = try item.source(self.sources, context)
        let info = try source.info(context)
        var upload = self.upload
        upload.url = item.url
        let url = try self.journal.map { (_) throws(BlobError) in try TransferURL(item.url).text }
        if let url, let entry = self.journal?.entry(url, info, source.locator), self.has(entry, info, upload, context) {
            try self.output.end(number, line: Self.skippedLine(String(entry.digest), item))
            return nil
        }
        if let sha256 = try self.existing(source, upload, context) {
            if let digest = sha256, let url { try self.journal?.append(url, info, source.locator, digest) }
            try self.output.end(number, line: Self.skippedLine(sha256 ?? "-", item))
            return nil
        }
        let isBody = self.offset == 0 && self.options.contentEncoding == .identity
        try upload.setMediaType(of: source, info, isBody: isBody, context)
        let part: any BlobInputStreamDataSource =
            self.offset != 0 ? source.slice(try ByteOffset.start(self.offset, in: source, context)...) : source
        let sum = Locked<String?>(nil)
        let hashed = part.hashing(with: CryptoDigest.sha256) { digest in sum.withLock { $0 = digest.hexadecimal } }
        let body = try self.options.contentEncoding.encode(hashed, &upload, context)
        // The hashing layer has the validator of its base.
        let validator = isBody ? info.validator : self.offset != 0 ? nil : try body.info(context).validator
        return Prepared(
            number: number, url: url, source: source, info: info,
            request: try TimedUpload(upload, self.options, self.output, number: number), body: body,
            validator: validator, digest: sum)
    }

    private func finish(
        _ upload: Prepared, _ item: UploadItem, _ result: Result<BlobUploadResponse, BlobError>, _ facts: RequestFacts
    ) throws(BlobError) {
        let digest = upload.digest.withLock { $0 } ?? ""
        let (response, check): (BlobUploadResponse, String?)
        do throws(BlobError) {
            response = try result.get()
            // The digest covers the bytes before encoding.
            let sent = self.options.contentEncoding == .identity ? [UInt8](hexadecimal: digest.utf8) : nil
            check = try response.compare(
                sent.map { [BlobStatedDigest(CryptoDigest.sha256.name, $0, origin: "the source")] } ?? [])
        } catch {
            try self.output.end(upload.number, facts)
            throw error
        }
        if self.offset == 0, let url = upload.url {
            try self.journal?.append(
                url, upload.info, upload.source.locator, digest, tag: response.value(of: "etag"))
        }
        try self.output.end(upload.number, line: Self.line(digest, item), facts, answer: response.body)
        self.output.reportCheck(check, at: facts.url)
    }

    private static func line(_ digest: String, _ item: UploadItem) -> String {
        "\(digest)  \(printableArgument(item.name))"
    }

    /// Returns the line for a source that was not sent.
    private static func skippedLine(_ digest: String, _ item: UploadItem) -> String {
        "already there: \(self.line(digest, item))"
    }

    /// The status codes of servers that do not support HEAD.
    private static let unknownMethodStatuses: Set = [405, 501]

    /// Returns true if, according to its response, the server still has the object of a journal entry.
    private func has(
        _ entry: UploadJournal.Entry, _ info: BlobInfo, _ upload: BlobUploadRequest, _ context: BlobContext
    ) -> Bool {
        // The URL of a POST request is not the object's URL.
        guard upload.method == .put else { return true }
        // The same error will occur again during the upload.
        guard let head = try? TransferRequest(asking: upload).head(context) else { return false }
        let byteCount = self.options.contentEncoding == .identity ? info.byteCount : nil
        return Self.unknownMethodStatuses.contains(head.status) || entry.isAlike(head, byteCount)
    }

    /// Returns the SHA-256 of a source that the server already has according to `--skip-existing`.
    ///
    /// The inner value is nil if the source was not read.
    private func existing(
        _ source: any BlobInputStreamDataSource, _ upload: BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> String?? {
        guard let check = self.list.skipExisting else { return nil }
        switch try check.compare(for: source, at: upload, context) {
        case .same(let sha256): return .some(sha256)
        case .other: return nil
        case .unverifiable:
            if !self.hasWarnedAboutDigests.exchange(true) {
                ProgressLine.printNotice(
                    "blob: the server does not report digests, so everything is sent; --skip-existing=size compares sizes\n"
                )
            }
            return nil
        }
    }
}
#endif
