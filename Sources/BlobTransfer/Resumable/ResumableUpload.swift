import BlobCore

/// A source and its facts when its upload began.
struct ResumableContent: Sendable {
    let source: any BlobInputStreamDataSource
    let info: BlobInfo
    let byteCount: Int64
    let validator: BlobValidator
}

/// One resumable upload: the requests of its parts.
struct ResumableUpload: Sendable {
    private let uploader: ResumableUploader
    private let content: ResumableContent
    private let requests: ResumableRequests
    private let client: any ResumableClient
    // With a cancellation of its own: when a part fails, the others end.
    private let context: BlobContext
    private let ranges: [Range<Int64>]
    /// The number of bytes of each part that were sent.
    private let progress: Locked<[Int64]>

    init(_ uploader: ResumableUploader, _ content: ResumableContent, _ context: BlobContext) throws(BlobError) {
        (self.uploader, self.content, self.context) = (uploader, content, context.makeChild())
        let count = uploader.wireProtocol == .tus ? max(1, min(Int64(uploader.partCount), content.byteCount)) : 1
        let bounds = (0...count).map { content.byteCount / count * $0 + min($0, content.byteCount % count) }
        self.ranges = zip(bounds, bounds.dropFirst()).map { $0..<$1 }
        self.progress = Locked(Array(repeating: 0, count: self.ranges.count))
        var request = uploader.request
        request.pace = request.ownPace
        (request.onAnswer, request.onProgress, request.maximumRetryCount) = (nil, nil, 0)
        self.requests = try ResumableRequests(request, self.context)
        self.client =
            switch uploader.wireProtocol {
            case .tus: TusClient(self.requests)
            case .draft: DraftClient(self.requests)
            }
    }

    /// Returns true for a state with which this upload goes on.
    func isContinued(by state: UploadState) -> Bool {
        state.url == self.uploader.request.url && state.byteCount == self.content.byteCount
            && state.validator == self.content.validator.text && state.wire ?? .tus == self.uploader.wireProtocol
            && state.parts?.count ?? 1 == self.ranges.count
            && (state.parts ?? [state.location]).allSatisfy(self.requests.isOwn)
    }

    // MARK: Creation

    /// Creates the upload, or all of its parts.
    func create() async throws(BlobError) -> UploadState {
        var state = UploadState(
            url: self.uploader.request.url, location: "", byteCount: self.content.byteCount,
            validator: self.content.validator.text, boundary: self.uploader.boundary, wire: self.uploader.wireProtocol)
        if self.ranges.count == 1 {
            (state.location, state.version) = try await self.client.create(self.content.byteCount, self.metadata)
        } else {
            var parts: [String] = []
            for range in self.ranges { parts.append(try await self.client.createPart(Int64(range.count))) }
            state.parts = parts
        }
        try self.uploader.stateFile?.store(state)
        return state
    }

    private var metadata: ResumableMetadata {
        let type = self.uploader.request.fields.first { $0.name.lowercased() == "content-type" }?.value
        return ResumableMetadata(
            name: self.content.info.name ?? "upload",
            mediaType: type ?? self.content.info.mediaType ?? "application/octet-stream")
    }

    // MARK: Bytes

    /// Sends what the server does not have, and returns the URL of the upload.
    ///
    /// - Parameter isNew: True when the server has nothing.
    func finish(_ state: UploadState, isNew: Bool) async throws(BlobError) -> String {
        guard let parts = state.parts else {
            try await self.send(0, to: state.location, state.version, isNew: isNew)
            return state.location
        }
        let failure = await withTaskGroup(of: BlobError?.self) { group in
            for (number, part) in parts.enumerated() {
                group.addTask {
                    do throws(BlobError) {
                        try await self.send(number, to: part, nil, isNew: isNew)
                        return nil
                    } catch {
                        return error
                    }
                }
            }
            var first: BlobError?
            for await failure in group where failure != nil && first == nil {
                first = failure
                self.context.cancellation.cancel()
            }
            return first
        }
        if let failure { throw failure }
        let location = try await self.recovering { () async throws(BlobError) in
            try await self.client.join(parts, self.metadata)
        }
        // Before the parts: without them, the same state would begin anew.
        self.uploader.stateFile?.remove()
        for part in parts { try? await self.client.remove(part) }
        return location
    }

    /// Sends the rest of a part.
    private func send(
        _ number: Int, to location: String, _ version: String?, isNew: Bool
    ) async throws(BlobError) {
        let range = self.ranges[number]
        let byteCount = Int64(range.count)
        var recovery = UploadRecovery(patience: self.uploader.patience)
        var isNew = isNew
        while true {
            do throws(BlobError) {
                let state =
                    isNew ? ResumableOffset(0) : try await self.client.offset(of: location, byteCount, version)
                isNew = false
                recovery.note(state.offset)
                if state.isComplete { return }
                let end = try await self.append(range, from: state.offset, number, to: location, version)
                if end.isComplete { return }
            } catch {
                let pause = try recovery.pause(after: error)
                self.uploader.report(error, recovery)
                try await self.context.sleep(for: pause)
            }
        }
    }

    private func append(
        _ range: Range<Int64>, from offset: Int64, _ number: Int, to location: String, _ version: String?
    ) async throws(BlobError) -> ResumableOffset {
        let (content, context) = (self.content, self.context)
        let start = range.lowerBound + offset
        let isSame = try await BlockingPool.openings.value { () throws(BlobError) in
            try content.source.info(context).validator == content.validator
        }
        guard isSame else {
            throw BlobError(
                .changed, "The content changed when \(start) bytes of it had been uploaded.", operation: "read",
                locator: content.source.locator?.description, byteOffset: start)
        }
        // The validator from the beginning of the upload: content that changes before it is opened does not match.
        let isLast = range.upperBound == content.byteCount
        let isWhole = start == 0 && isLast
        let recipe = "slice-\(start)-\(isLast ? "end" : String(range.upperBound))"
        let validator = isWhole ? content.validator : BlobValidator.combined(recipe, [content.validator])
        let rest: any BlobInputStreamDataSource =
            isWhole
            ? content.source
            : isLast ? content.source.slice(start...) : content.source.slice(start..<range.upperBound)
        let onProgress = self.uploader.request.onProgress
        return try await self.client.append(
            rest, from: offset, Int64(range.count), matching: validator, to: location, version
        ) { [progress] sent in
            let sum = progress.withLock { progress in
                progress[number] = offset + sent
                return progress.reduce(0, +)
            }
            onProgress?(sum, content.byteCount)
        }
    }

    private func recovering<Value>(
        _ request: () async throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        var recovery = UploadRecovery(patience: self.uploader.patience)
        while true {
            do throws(BlobError) {
                return try await request()
            } catch {
                let pause = try recovery.pause(after: error)
                self.uploader.report(error, recovery)
                try await self.context.sleep(for: pause)
            }
        }
    }
}
