import ArgumentParser
import BlobCommandLine
import BlobTransfer
import BlobStreamsStandard
import Foundation

/// The uploads of many sources, some at once, each on a thread.
final class ParallelUploads: Sendable {
    private struct State {
        var next = 0
        var threadCount = 0
        /// The error that gives the exit status: the first one that repeating does not help against, or the first.
        var worst: BlobError?
        /// The error that ended the job.
        var stop: BlobError?

        mutating func note(_ error: BlobError) {
            guard let worst else { return self.worst = error }
            if worst.isTransient, !error.isTransient { self.worst = error }
        }
    }

    private let items: UploadItems
    private let upload: BlobUploadRequest
    private let options: UploadOptions
    private let list: ListOptions
    private let output: AnswerOutput
    private let registry: BlobRegistry
    private let journal: UploadJournal?
    private let offset: Int64
    private let state = Locked(State())
    private let ended = WaitSignal()

    /// - Parameter upload: The request that all have in common.
    init(
        _ items: UploadItems, _ upload: BlobUploadRequest, _ options: UploadOptions, _ list: ListOptions,
        _ output: AnswerOutput, _ registry: BlobRegistry, offset: Int64
    ) throws(BlobError) {
        (self.items, self.upload, self.options, self.list) = (items, upload, options, list)
        (self.output, self.registry, self.offset) = (output, registry, offset)
        self.journal = if let path = list.journal { try UploadJournal(path: path) } else { nil }
    }

    /// Returns when all are done.
    ///
    /// - Throws: The error that ended the job; otherwise, after all errors are printed, the status of the worst one.
    func run(_ context: BlobContext) throws {
        for error in self.items.errors { self.note(error) }
        let count = min(self.list.jobs, self.items.items.count)
        self.state.withLock { $0.threadCount = count }
        for _ in 0..<count {
            Thread.detachNewThread { [self] in
                while let number = self.next() { self.process(number, context) }
                if self.state.withLock({ state in
                    state.threadCount -= 1
                    return state.threadCount == 0
                }) {
                    self.ended.signal()
                }
            }
        }
        while self.state.withLock({ $0.threadCount }) > 0 { _ = self.ended.wait(for: .seconds(3600)) }
        let (stop, worst) = self.state.withLock { ($0.stop, $0.worst) }
        if let stop { throw stop }
        try self.output.commit()
        if let worst { throw ExitCode(worst.code.exitStatus) }
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

    private func process(_ number: Int, _ context: BlobContext) {
        do throws(BlobError) {
            try self.send(number, context)
        } catch {
            // Without standard output, and after the end of the job, there is nothing left to do.
            let isOver = (try? context.check()) == nil || error.operation == "write" && error.locator == nil
            guard isOver else { return self.note(error) }
            self.state.withLock { $0.stop = $0.stop ?? error }
        }
    }

    private func send(_ number: Int, _ context: BlobContext) throws(BlobError) {
        let item = self.items.items[number]
        let source = try item.source(self.registry, context)
        let info = try source.info(context)
        var upload = self.upload
        upload.url = item.url
        let url = try TransferURL(item.url).text
        if let digest = self.journal?.digest(url, info, source.locator) {
            return try self.output.end(number, line: Self.line(String(digest), item))
        }
        let found = Locked<String?>(nil)
        if try self.isThere(source, upload, context, found) {
            let digest = found.withLock { $0 }
            if let digest { try self.journal?.append(url, info, source.locator, digest) }
            return try self.output.end(number, line: Self.line(digest ?? "-", item))
        }
        try upload.setMediaType(of: source, context)
        let output = self.output
        upload.onProgress = { sent, byteCount in output.show(number, sent, of: byteCount) }
        let part: any BlobInputStreamDataSource = self.offset > 0 ? source.slice(self.offset...) : source
        let hashed = part.hashing(with: CryptoDigest.sha256) { digest in found.withLock { $0 = digest.hexadecimal } }
        let body = try self.options.contentEncoding.encode(hashed, &upload, context)
        var attempts = try UploadAttempts(upload, self.options, output)
        let (result, facts) = attempts.run(
            body, matching: self.offset > 0 ? nil : try body.info(context).validator, number: number, context)
        guard case .success(let response) = result else {
            try output.end(number, facts)
            _ = try result.get()
            return
        }
        let digest = found.withLock { $0 } ?? ""
        if self.offset == 0 { try self.journal?.append(url, info, source.locator, digest) }
        try output.end(number, line: Self.line(digest, item), facts, answer: response.body)
    }

    private static func line(_ digest: String, _ item: UploadItem) -> String {
        "\(digest)  \(printableArgument(item.name))"
    }

    private func isThere(
        _ source: any BlobInputStreamDataSource, _ upload: BlobUploadRequest, _ context: BlobContext, _ found: Locked<String?>
    ) throws(BlobError) -> Bool {
        guard let check = self.list.skipExisting else { return false }
        var request = TransferRequest(try TransferURL(upload.url))
        request.privateFields = upload.fields.filter { !$0.name.lowercased().hasPrefix("content-") }
        request.settings = upload.settings
        if let limit = upload.idleLimit { request.idleLimit = limit }
        do {
            return try check.isMet(source, request, context) { digest in found.withLock { $0 = digest } }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}
