#if Command
import BlobCommandLine
import BlobPlatform
import BlobStreamsStandard
import BlobTransfer

/// A destination where jobs store objects.
protocol JobTarget: Sendable {
    /// The URL of the destination, ending with a '/'.
    var url: String { get }

    /// Stores a source unless its object already exists.
    func put(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) async throws(BlobError) -> JobObject
}

extension JobTarget {
    /// Returns the URL of the object for a source.
    func url(of locator: String) -> String {
        let key = CryptoDigest.sha256.digest(of: Array(locator.utf8)).hexadecimal
        return UploadFolder(self.url)?.url(appending: key) ?? self.url + key
    }
}

/// A stored object, or a part of one.
struct JobObject {
    /// False if the object already existed.
    let isNew: Bool
    let byteCount: Int64?
    var sha256: String?
    var entityTag: String?
}

/// A web server that accepts PUT requests.
struct WebJobTarget: JobTarget {
    private static let preconditionFailed = 412

    let url: String
    private let request: BlobUploadRequest

    init(
        _ url: String, _ options: SourceOptions, retry: BlobRetry, rate: ByteAllowance?, _ context: BlobContext
    ) throws {
        self.url = url
        var request = try BlobUploadRequest(.put, url, options, context)
        (request.retry, request.allowance) = (retry, rate)
        try request.validate()
        self.request = request
    }

    func put(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) async throws(BlobError) -> JobObject {
        var request = self.request
        request.url = url
        let info = try source.info(context)
        if let found = try self.existing(source, info, request, context) { return found }
        try request.setMediaType(of: source, info, context)
        request.fields.append(BlobHTTPField("If-None-Match", "*"))
        let (count, digest) = (Locked<Int64?>(info.byteCount), Locked<String?>(nil))
        request.onProgress = { sent, _ in if info.byteCount == nil { count.withLock { $0 = sent } } }
        let body = source.hashing(with: CryptoDigest.sha256) { value in digest.withLock { $0 = value.hexadecimal } }
        do throws(BlobError) {
            _ = try await BlobUploader().upload(body, with: request, matching: info.validator, context: context)
            return JobObject(isNew: true, byteCount: count.withLock { $0 }, sha256: digest.withLock { $0 })
        } catch {
            guard (error.cause as? BlobUploadRefusal)?.response.status == Self.preconditionFailed else { throw error }
            // The object was stored in the meantime, by another process or by an attempt of this process whose response
            // was lost.
            if let found = try self.existing(source, info, request, context) { return found }
            guard let sha256 = try self.digestOfEqual(source, info, at: request, context) else { throw error }
            return JobObject(isNew: false, byteCount: info.byteCount, sha256: sha256)
        }
    }

    /// Returns the object if it exists and has the digest of the source.
    private func existing(
        _ source: any BlobInputStreamDataSource, _ info: BlobInfo, _ request: BlobUploadRequest, _ context: BlobContext
    ) throws(BlobError) -> JobObject? {
        guard case .same(let sha256) = try ExistingCheck.digest.compare(for: source, at: request, context) else {
            return nil
        }
        return JobObject(isNew: false, byteCount: info.byteCount, sha256: sha256)
    }

    /// Returns the SHA-256 of a source if the source equals the object of a server that states no digest; nil
    /// otherwise.
    ///
    /// Downloads the object, because an object of the same length may have different content.
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
        let digests = try [object, source].map { (source) throws(BlobError) in
            try Hashing([.sha256], context).digests(of: source)[0]
        }
        return digests[0] == digests[1] ? digests[1].hexadecimal : nil
    }
}

/// A store with the S3 interface.
struct S3JobTarget: JobTarget {
    let url: String
    private let uploader: S3Uploader
    private let options: S3Source.Options
    private let request: BlobUploadRequest

    init(
        _ url: String, _ options: SourceOptions, retry: BlobRetry, rate: ByteAllowance?, partByteCount: Int64?,
        _ context: BlobContext
    ) throws {
        self.url = url
        let request = try BlobUploadRequest(.put, url, options, context)
        self.options = options.s3.options(request.settings)
        var uploader = try S3Uploader(self.options)
        (uploader.retry, uploader.allowance) = (retry, rate)
        if let partByteCount { uploader.partByteCount = partByteCount }
        if let idleLimit = request.idleLimit { uploader.idleLimit = idleLimit }
        (self.uploader, self.request) = (uploader, request)
    }

    func put(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) async throws(BlobError) -> JobObject {
        if let existing = try await self.uploader.existing(source, at: url, context) {
            return JobObject(isNew: false, byteCount: existing.byteCount, entityTag: existing.entityTag)
        }
        let object = try await self.uploader(of: source, context).upload(source, to: url, context: context)
        return JobObject(isNew: true, byteCount: object.byteCount, entityTag: object.entityTag)
    }

    /// Begins storing a source in parts; returns nil if the object exists or should be stored as a whole.
    func begin(
        _ source: any BlobInputStreamDataSource, to url: String, _ context: BlobContext
    ) async throws(BlobError) -> (upload: SharedMultipartUpload, parts: [Range<Int64>])? {
        // The step that stores an object compares it with an existing one of the same length.
        let byteCount = try source.info(context).byteCount
        let found = try? S3Source(url, options: self.options).info(context)
        guard found == nil || found?.byteCount != byteCount else { return nil }
        return try await self.uploader(of: source, context).begin(source, to: url, context)
    }

    /// Stores a part of a source.
    func put(
        _ number: Int, of upload: SharedMultipartUpload, _ source: any BlobInputStreamDataSource,
        _ context: BlobContext
    ) async throws(BlobError) -> JobObject {
        let (range, tag) = try await self.uploader.store(number, of: upload, source, context)
        return JobObject(isNew: true, byteCount: Int64(range.count), entityTag: tag)
    }

    /// Completes the object from its parts, or discards them if it cannot be completed.
    ///
    /// - Parameter source: Returns the source, to compare it with an existing object.
    func finish(
        _ upload: SharedMultipartUpload, of source: @escaping @Sendable () throws -> any BlobInputStreamDataSource,
        _ context: BlobContext
    ) async throws(BlobError) -> JobObject {
        do throws(BlobError) {
            let (object, isNew) = try await self.uploader.finish(upload, of: source, context)
            return JobObject(isNew: isNew, byteCount: object.byteCount, entityTag: object.entityTag)
        } catch {
            guard !error.isWorthRepeating else { throw error }
            do throws(BlobError) {
                try await self.abort(upload, context)
            } catch {
                ProgressLine.printError(
                    "blob: warning: parts of \(upload.object) may remain in the store: \(error.message)\n")
            }
            throw error
        }
    }

    /// Discards the parts of a source.
    func abort(_ upload: SharedMultipartUpload, _ context: BlobContext) async throws(BlobError) {
        try await self.uploader.abort(upload, context)
    }

    /// Returns an uploader with the header fields of the object.
    private func uploader(
        of source: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> S3Uploader {
        var (uploader, typed) = (self.uploader, self.request)
        try typed.setMediaType(of: source, nil, context)
        uploader.fields = typed.fields
        return uploader
    }
}

extension BlobError {
    /// True if another attempt to finish an upload may succeed after this error.
    var isWorthRepeating: Bool { self.isTransient || self.code == .cancelled || self.code == .timedOut }
}
#endif
