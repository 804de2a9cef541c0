#if Command
import ArgumentParser
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// Uploads sources to a store with the S3 interface.
struct S3Uploads: Sendable {
    /// The maximum time in seconds for an interrupted job to abort its uploads, the same as for ``S3Uploader``.
    private static let abortLimit: UInt32 = 30

    private let uploader: S3Uploader
    private let upload: BlobUploadRequest
    private let jobs: Int
    private let resumable: ResumableOptions

    /// - Parameter upload: The limits and header fields of all objects.
    init(
        _ upload: BlobUploadRequest, _ store: S3Source.Options, _ request: UploadOptions, _ list: ListOptions,
        _ resumable: ResumableOptions
    ) throws(BlobError) {
        var uploader = try S3Uploader(store)
        uploader.allowance = upload.allowance
        if let idleLimit = upload.idleLimit { uploader.idleLimit = idleLimit }
        request.setRetry(&uploader.retry)
        (self.uploader, self.upload, self.jobs, self.resumable) = (uploader, upload, list.jobs, resumable)
    }

    /// Uploads one source, blocking this thread.
    ///
    /// - Parameter words: The names of the source, which identify its state file.
    func run(
        _ source: any BlobInputStreamDataSource, words: [String], _ url: String, _ output: AnswerOutput,
        _ context: BlobContext
    ) throws {
        self.limitCleanup()
        try waiting { () throws(BlobError) in
            try await self.store(source, words, url, 0, partsAtOnce: self.jobs, output, context)
        }
        try output.commit()
    }

    /// Uploads many sources, several at once, blocking this thread.
    ///
    /// - Throws: The error of the only source; for several sources, the errors of ``ParallelUploads/run(atOnce:_:_:)``.
    func run(_ items: UploadItems, _ sources: ArgumentSources, _ output: AnswerOutput, _ context: BlobContext) throws {
        if items.items.count == 1, items.errors.isEmpty, let item = items.items.first {
            return try self.run(item.source(sources, context), words: [item.name], item.url, output, context)
        }
        self.limitCleanup()
        try ParallelUploads(items, output).run(atOnce: self.jobs, context) { (number, item) async throws(BlobError) in
            let source = try item.source(sources, context)
            try await self.store(source, [item.name], item.url, number, partsAtOnce: 1, output, context)
        }
    }

    /// Allows an interrupted job enough time to delete its parts, which would otherwise incur storage costs.
    private func limitCleanup() { if !self.resumable.isEnabled { Interrupts.setCleanupLimit(Self.abortLimit) } }

    private func store(
        _ source: any BlobInputStreamDataSource, _ words: [String], _ url: String, _ number: Int, partsAtOnce: Int,
        _ output: AnswerOutput, _ context: BlobContext
    ) async throws(BlobError) {
        var (uploader, upload) = (self.uploader, self.upload)
        try upload.setMediaType(of: source, nil, context)
        (uploader.fields, uploader.maximumPartsAtOnce) = (upload.fields, partsAtOnce)
        if self.resumable.isEnabled {
            let place = [url, FileManager.default.currentDirectoryPath]
            uploader.stateFile = self.resumable.statePath(of: place + words)
        }
        uploader.onProgress = { sent, byteCount in output.show(number, sent, of: byteCount) }
        uploader.onAttempt = output.reportAttempt
        let place = printableURL(url)
        uploader.onCheck = { output.reportCheck($0, at: place) }
        let object = try await uploader.upload(source, to: url, context: context)
        try output.end(number, line: "\(object.entityTag)  \(object.locator)")
    }
}
#endif
