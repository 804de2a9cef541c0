#if Receiver && Photos
import BlobStreamsStandard
import BlobTransfer
import Foundation
import MultipartFormData

/// The format in which a server accepts an asset.
enum UploadForm: String, CaseIterable, Sendable {
    /// Resumable uploads (tus 1.0.0). If this process is killed, another one continues the upload.
    case tus
    /// A POST of the unchanged bytes, with the name in `Content-Disposition`. Waits for an unreachable server, but
    /// fails if the connection breaks later, because the server may have received a part.
    case raw
    /// A POST of a form whose part `file` contains the bytes, otherwise the same as ``raw``.
    case form
}

/// Uploads the assets of a queue, which outlives the process: if the process is killed, the next one continues.
actor PickerUploads {
    /// The time without activity after which a connection is replaced by a new one.
    private static let idleLimit = Duration.seconds(60)

    /// The queue, which pages observe.
    nonisolated let queue: BlobObservable<UploadQueue>

    private let catalogue: any PickerCatalogue
    private let folder: URL
    private let jobCount: Int
    private let request: BlobUploadRequest
    private let form: UploadForm
    /// The contexts of the uploads in progress, keyed by the identifiers of their assets.
    private var contexts: [String: BlobContext] = [:]

    /// - Parameters:
    ///   - catalogue: The assets.
    ///   - url: The URL of the server. With ``UploadForm/tus``, this is the URL at which the server creates uploads.
    ///   - form: The format that the server accepts.
    ///   - folder: The folder for the queue and for a state file for each upload.
    ///   - jobCount: The number of concurrent uploads, at least 1.
    ///   - rateLimit: The maximum rate of each upload in bytes per second; nil for no limit.
    /// - Throws: The error of reading a stored queue.
    init(
        of catalogue: any PickerCatalogue, to url: String, as form: UploadForm = .tus, keepingStateIn folder: URL,
        atOnce jobCount: Int, rateLimit: Int64? = nil
    ) throws {
        (self.catalogue, self.folder, self.jobCount, self.form) = (catalogue, folder, jobCount, form)
        var request = BlobUploadRequest(.post, url)
        (request.rateLimit, request.idleLimit) = (rateLimit, Self.idleLimit)
        self.request = request
        let file = Self.file(in: folder)
        let items =
            FileManager.default.fileExists(atPath: file.path)
            ? try JSONDecoder().decode([UploadItem].self, from: Data(contentsOf: file)) : []
        let queue = UploadQueue(items, version: Int(Date().timeIntervalSince1970 * 1000))
        // Pages show the current state, so only the last of several pending changes is needed.
        self.queue = BlobObservable(queue, coalescing: { _, _ in true })
    }

    /// Adds assets to the queue, and returns once they are stored.
    func add(_ assets: [PickerAsset]) throws { try self.change { $0.add(assets) } }

    /// Cancels and removes an upload.
    func remove(_ id: String) throws {
        // Cancelled first, because a full disk must not keep a removed upload running.
        self.contexts[id]?.cancellation.cancel()
        try self.change { $0.remove(id) }
    }

    /// Removes the uploads that have ended.
    func clear() throws { try self.change { $0.clear() } }

    /// Runs the uploads until the process ends.
    func run() async {
        await withDiscardingTaskGroup { group in
            for await _ in self.queue.states {
                let ending = Set(self.contexts.keys)
                for item in self.queue.update({ $0.start(atMost: self.jobCount, except: ending) }) {
                    group.addTask { await self.upload(item.id) }
                }
            }
        }
    }

    /// Returns the queue once it is newer than a version, or once the time has elapsed.
    nonisolated func queue(after version: Int, within time: Duration) async -> UploadQueue {
        await withTaskGroup { group in
            group.addTask { await self.queue.states.first { $0.version > version } }
            group.addTask {
                try? await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            return await group.next().flatMap { $0 } ?? self.queue.value
        }
    }

    private func upload(_ id: String) async {
        // The upload may have been cancelled since it was started.
        guard self.queue.value.items.contains(where: { $0.id == id }) else { return }
        let context = BlobContext()
        self.contexts[id] = context
        var message: String?
        do {
            try await self.send(self.catalogue.source(of: id), id, context)
        } catch {
            message = (error as? BlobError)?.message ?? "\(error)"
        }
        self.contexts[id] = nil
        guard !context.cancellation.isCancelled else { return self.queue.update { $0.endCancelled() } }
        // If the disk is full, the queue in memory is correct, and the next run uploads the asset again.
        try? self.change { $0.end(id, message) }
    }

    private func send(_ source: any BlobInputStreamDataSource, _ id: String, _ context: BlobContext) async throws {
        let onRetry = { @Sendable [queue] (error: BlobError) in queue.update { $0.record(error.message, id) } }
        var request = self.request
        request.onProgress = { [queue] sent, byteCount in queue.update { $0.record(sent, of: byteCount, id) } }
        // An upload waits for an unreachable server, and ends if the server refuses it.
        request.maximumRetryCount = .max
        request.onRetry = onRetry
        switch self.form {
        case .tus:
            var uploader = ResumableUploader(request)
            uploader.stateFile = UploadStateFile(path: self.stateFile(of: id).path)
            (uploader.maximumFailureCount, uploader.onRetry) = (.max, onRetry)
            _ = try await uploader.upload(source, context: context)
        case .raw:
            let name = self.queue.value.items.first { $0.id == id }?.name ?? id
            let encoded = name.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? ""
            request.fields.append(BlobHTTPField("Content-Disposition", "attachment; filename*=UTF-8''\(encoded)"))
            _ = try await BlobUploader().upload(source, with: request, context: context)
        case .form:
            var form = MultipartForm()
            try form.appendPart(source: source, name: "file")
            _ = try await BlobUploader().upload(form.body(context: context), with: request, context: context)
        }
    }

    /// Changes and stores the queue.
    private func change(_ body: (inout UploadQueue) -> Void) throws {
        self.queue.update(body)
        try JSONEncoder().encode(self.queue.value.items).write(to: Self.file(in: self.folder), options: .atomic)
    }

    /// Returns the state file of an upload. Its name is a digest, because an identifier may be a path.
    private func stateFile(of id: String) -> URL {
        var hasher = CryptoDigest.sha256.makeHasher()
        Array(id.utf8).withUnsafeBytes { hasher.update($0) }
        return self.folder.appendingPathComponent("\(hasher.finalizeHexadecimal()).upload")
    }

    private static func file(in folder: URL) -> URL { folder.appendingPathComponent("uploads.json") }
}
#endif
