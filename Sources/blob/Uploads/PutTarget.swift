import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// The place where `blob put` stores objects.
protocol PutTarget {
    /// The URL of the place, which ends with '/'.
    var url: String { get }

    /// Stores a source, unless the object is there, and blocks this thread.
    func put(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) throws(BlobError) -> PutObject
}

extension PutTarget {
    /// Returns the URL of the object of a source.
    func url(of locator: String) -> String {
        var hasher = CryptoDigest.sha256.makeHasher()
        Array(locator.utf8).withUnsafeBytes { hasher.update($0) }
        let key = hasher.finalizeHexadecimal()
        return UploadFolder(self.url)?.url(appending: key) ?? self.url + key
    }
}

/// An object that is there, or a part of one.
struct PutObject {
    /// False when it was there before.
    let isNew: Bool
    let byteCount: Int64?
    var sha256: String?
    var entityTag: String?
}

/// A web server that takes PUT.
struct WebTarget: PutTarget {
    private static let preconditionFailed = 412

    let url: String
    private let request: BlobUploadRequest

    init(_ url: String, _ options: SourceOptions, retry: Int, _ context: BlobContext) throws {
        self.url = url
        var request = try BlobUploadRequest(.put, url, options, context)
        request.maximumRetryCount = retry
        try request.validate()
        self.request = request
    }

    func put(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) throws(BlobError) -> PutObject {
        var request = self.request
        request.url = url
        let info = try source.info(context)
        let digest = Locked<String?>(nil)
        if try self.has(source, .digest, at: request, context, digest) {
            return PutObject(isNew: false, byteCount: info.byteCount, sha256: digest.withLock { $0 })
        }
        try request.setMediaType(of: source, info, context)
        request.fields.append(BlobHTTPField("If-None-Match", "*"))
        let count = Locked<Int64?>(info.byteCount)
        request.onProgress = { sent, _ in if info.byteCount == nil { count.withLock { $0 = sent } } }
        let body = source.hashing(with: CryptoDigest.sha256) { value in digest.withLock { $0 = value.hexadecimal } }
        do throws(BlobError) {
            _ = try BlobUploader().uploadBlocking(body, with: request, matching: info.validator, context: context)
            return PutObject(isNew: true, byteCount: count.withLock { $0 }, sha256: digest.withLock { $0 })
        } catch {
            guard (error.cause as? BlobUploadRefusal)?.response.status == Self.preconditionFailed else { throw error }
            // Another process has stored it meanwhile, or an attempt of this one whose answer was lost.
            if try self.has(source, .digest, at: request, context, digest) {
                return PutObject(isNew: false, byteCount: info.byteCount, sha256: digest.withLock { $0 })
            }
            guard let sha256 = try self.digestOfEqual(source, info, at: request, context) else { throw error }
            return PutObject(isNew: false, byteCount: info.byteCount, sha256: sha256)
        }
    }

    /// Returns the SHA-256 of a source if the object of a server that tells no digest has it; nil otherwise. The server
    /// sends the object back, because an object of the same length may be another one.
    private func digestOfEqual(
        _ source: any BlobInputStreamDataSource, _ info: BlobInfo, at upload: BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> String? {
        guard let asking = try? TransferRequest(asking: upload), let head = try? asking.head(context),
            head.isSuccess, head.digest == nil, head.contentLength ?? info.byteCount == info.byteCount
        else { return nil }
        var options = HTTPSource.Options()
        options.headers = asking.privateFields.map { ($0.name, $0.value) }
        options.transfers = asking.settings
        guard let object = try? HTTPSource(upload.url, options: options) else { return nil }
        do {
            let digests = try [object, source].map { source in
                try Hashing([.sha256], itemCount: nil, progress: .never, context).digests(of: source)[0]
            }
            return digests[0] == digests[1] ? digests[1].hexadecimal : nil
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    private func has(
        _ source: any BlobInputStreamDataSource, _ check: ExistingCheck, at upload: BlobUploadRequest,
        _ context: BlobContext, _ digest: Locked<String?>
    ) throws(BlobError) -> Bool {
        do {
            return try check.isMet(source, TransferRequest(asking: upload), context) { value in
                digest.withLock { $0 = value }
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }
}

/// A store with the interface of S3.
struct StoreTarget: PutTarget {
    let url: String
    private let uploader: S3Uploader
    private let options: S3Source.Options
    private let fields: [BlobHTTPField]

    init(
        _ url: String, _ options: SourceOptions, retry: Int, partByteCount: Int64?, _ context: BlobContext
    ) throws {
        self.url = url
        let request = try BlobUploadRequest(.put, url, options, context)
        self.options = options.store.options(request.settings)
        var uploader = try S3Uploader(self.options)
        uploader.maximumRetryCount = retry
        if let partByteCount { uploader.partByteCount = partByteCount }
        if let idleLimit = request.idleLimit { uploader.idleLimit = idleLimit }
        (self.uploader, self.fields) = (uploader, request.fields)
    }

    func put(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) throws(BlobError) -> PutObject {
        let existing = try Self.waiting { [uploader] () throws(BlobError) in
            try await uploader.existing(source, at: url, context)
        }
        if let existing {
            return PutObject(isNew: false, byteCount: existing.byteCount, entityTag: existing.entityTag)
        }
        let uploader = try self.uploader(of: source, context)
        let object = try Self.waiting { () throws(BlobError) in
            try await uploader.upload(source, to: url, context: context)
        }
        return PutObject(isNew: true, byteCount: object.byteCount, entityTag: object.entityTag)
    }

    /// Begins to store a source in parts; returns nil when it is there, or is stored as a whole.
    func begin(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) throws(BlobError) -> (upload: DividedUpload, parts: [Range<Int64>])? {
        // Whether an object of the same length is the source is found where it is stored.
        let byteCount = try source.info(context).byteCount
        let found = try? S3Source(url, options: self.options).info(context)
        guard found == nil || found?.byteCount != byteCount else { return nil }
        let uploader = try self.uploader(of: source, context)
        return try Self.waiting { () throws(BlobError) in try await uploader.begin(source, to: url, context) }
    }

    /// Stores a part of a source.
    func put(
        _ number: Int, of upload: DividedUpload, _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> PutObject {
        let (range, tag) = try Self.waiting { [uploader] () throws(BlobError) in
            try await uploader.store(number, of: upload, source, context)
        }
        return PutObject(isNew: true, byteCount: Int64(range.count), entityTag: tag)
    }

    /// Makes the object of its parts, or drops them if that cannot succeed.
    ///
    /// - Parameter source: Returns the source, with which an object that is there is compared.
    func finish(
        _ upload: DividedUpload, of source: @escaping @Sendable () throws -> any BlobInputStreamDataSource,
        _ context: BlobContext
    ) throws(BlobError) -> PutObject {
        do throws(BlobError) {
            let (object, isNew) = try Self.waiting { [uploader] () throws(BlobError) in
                try await uploader.finish(upload, of: source, context)
            }
            return PutObject(isNew: isNew, byteCount: object.byteCount, entityTag: object.entityTag)
        } catch {
            guard !error.mayPass else { throw error }
            do throws(BlobError) {
                try self.abort(upload, context)
            } catch {
                ProgressLine.printError("blob: warning: parts of \(upload.object) may be left: \(error.message)\n")
            }
            throw error
        }
    }

    /// Drops the parts of a source.
    func abort(_ upload: DividedUpload, _ context: BlobContext) throws(BlobError) {
        try Self.waiting { [uploader] () throws(BlobError) in try await uploader.abort(upload, context) }
    }

    /// Returns an uploader with the fields of the object.
    private func uploader(
        of source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> S3Uploader {
        var uploader = self.uploader
        var typed = BlobUploadRequest(.put, self.url)
        typed.fields = self.fields
        try typed.setMediaType(of: source, nil, context)
        uploader.fields = typed.fields
        return uploader
    }

    /// Runs a task, and blocks this thread.
    private static func waiting<Value: Sendable>(
        _ body: @escaping @Sendable () async throws(BlobError) -> Value
    ) throws(BlobError) -> Value {
        let ended = WaitSignal()
        let result = Locked<Result<Value, BlobError>?>(nil)
        BlockingPool.openings.runTasks {
            do throws(BlobError) {
                let value = try await body()
                result.withLock { $0 = .success(value) }
            } catch {
                result.withLock { $0 = .failure(error) }
            }
            ended.signal()
        }
        _ = ended.wait(for: nil)
        guard let value = try result.withLock({ $0 })?.get() else { preconditionFailure("The task has ended.") }
        return value
    }
}

extension BlobError {
    /// True for an error of finishing an upload after which another attempt may succeed.
    var mayPass: Bool { self.isTransient || self.code == .cancelled || self.code == .timedOut }
}
