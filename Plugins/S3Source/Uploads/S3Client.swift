import BlobCore
import BlobTransfer

/// The requests that store an object. Each request is signed again when it is repeated after a transient error.
struct S3Client: Sendable {
    /// The maximum length of a response body in bytes; a list of 1,000 parts has about 250 KiB, and a list of as many
    /// objects with the longest keys less than 4 MiB.
    private static let maximumAnswerByteCount = 4 << 20

    /// The limits for each request.
    struct Limits: Sendable {
        /// The retry rules. The count of failures restarts once the store has accepted another request.
        var retry = BlobRetry(maximumRetryCount: S3Uploader.defaultRetryCount)
        var idleLimit = BlobTransferSettings.defaultIdleLimit
        /// The rate limit that the requests share.
        var allowance: ByteAllowance?
        /// Called before each repetition of a request.
        var onAttempt: (@Sendable (RetryFailures.Attempt) -> Void)?
    }

    /// A response with a status from 200 to 299.
    struct Answer: Sendable {
        let head: ResponseHead
        let body: [UInt8]
        /// The secrets of the request, which a store may repeat but an error must not.
        let secrets: SentSecrets

        /// Returns the XML document in the body.
        ///
        /// - Throws: ``BlobError/Code/corrupted`` if the body is not an XML document with this name.
        func document(_ names: String...) throws(BlobError) -> MarkupElement {
            let document: MarkupElement
            do throws(BlobError) {
                document = try MarkupElement.parse(self.body)
            } catch {
                throw S3Client.corruptionError("is not a valid document: \(error.message)")
            }
            guard names.contains(document.name.local) else {
                throw S3Client.corruptionError("is an unexpected document '\(document.name.local)'")
            }
            return document
        }
    }

    let requests: S3Requests
    let uploader: BlobUploader
    let limits: Limits
    let context: BlobContext
    /// The number of requests that the store has accepted.
    private let acceptedCount = Locked(0)

    init(_ requests: S3Requests, _ uploader: BlobUploader, _ limits: Limits, _ context: BlobContext) {
        (self.requests, self.uploader, self.limits, self.context) = (requests, uploader, limits, context)
    }

    /// Makes a request, and repeats it until the store accepts it.
    ///
    /// - Parameters:
    ///   - body: The body of a PUT or POST, read again for each attempt. Other methods have no body.
    ///   - onProgress: Called with the number of body bytes sent.
    ///   - read: Reads the response. An error that it throws is treated as an error of the request.
    /// - Throws: The errors of ``BlobUploader`` and of the store, after the last attempt.
    func send<Value: Sendable>(
        _ call: S3Call, _ body: any BlobInputStreamDataSource = MemorySource([]),
        matching validator: BlobValidator? = nil,
        onProgress: (@Sendable (Int64) -> Void)? = nil, _ read: (Answer) throws(BlobError) -> Value
    ) async throws(BlobError) -> Value {
        var (call, isCorrected) = (call, false)
        var (failures, knownCount) = (RetryFailures(self.limits.retry), self.acceptedCount.withLock { $0 })
        while true {
            let acceptsChecksums = self.requests.service.acceptsChecksums
            if !acceptsChecksums.withLock({ $0 }) { call.checksums = [] }
            do throws(BlobError) {
                let answer = try await self.answer(call, body, validator, onProgress)
                // A store that fails after it has begun a response reports the error in the body.
                let hasError = (try? answer.document("Error")) != nil
                if answer.head.isSuccess, !hasError {
                    let value = try read(answer)
                    self.acceptedCount.withLock { $0 += 1 }
                    return value
                }
                if !call.checksums.isEmpty, S3Answer(answer.head, answer.body).refusesFields {
                    acceptsChecksums.withLock { $0 = false }
                    continue
                }
                if !isCorrected, self.requests.correctsRequest(answer.head, answer.body) {
                    isCorrected = true
                    continue
                }
                var error = S3Answer(answer.head, answer.body).error(answer.head)
                error.operation = "write"
                throw answer.secrets.removed(from: error)
            } catch {
                var error = error
                error.locator = error.locator ?? (error.operation == "write" ? self.requests.address.text : nil)
                guard error.operation == "write" else { throw error }
                let acceptedCount = self.acceptedCount.withLock { $0 }
                if acceptedCount != knownCount { failures.end() }
                knownCount = acceptedCount
                let attempt = try failures.attempt(after: error, self.context)
                self.limits.onAttempt?(attempt)
                try await self.context.sleep(for: attempt.delay)
            }
        }
    }

    private func answer(
        _ call: S3Call, _ body: any BlobInputStreamDataSource, _ validator: BlobValidator?,
        _ onProgress: (@Sendable (Int64) -> Void)?
    ) async throws(BlobError) -> Answer {
        let service = self.requests.service
        let keys = await withCheckedContinuation { continuation in
            service.keys.find { continuation.resume(returning: $0) }
        }
        let (url, fields) = try self.requests.signed(call, try keys.get())
        guard let method = BlobUploadRequest.Method(rawValue: call.method), method != .head else {
            return try await self.answer(call, url, fields)
        }
        var request = BlobUploadRequest(method, url.text, fields: fields)
        (request.settings, request.idleLimit) = (service.settings, self.limits.idleLimit)
        (request.allowance, request.isRepeatable) = (self.limits.allowance, call.isRepeatable)
        request.isProvenByResponse = service.provesParts.withLock { $0 }
        if let onProgress { request.onProgress = { sent, _ in onProgress(sent) } }
        let secrets = SentSecrets([url.text], fields, service.settings)
        do throws(BlobError) {
            let response = try await self.uploader.send(
                body, with: request, matching: validator, context: self.context)
            return Answer(head: response.head, body: Array(response.body), secrets: secrets)
        } catch {
            guard let response = (error.cause as? BlobUploadRefusal)?.response else { throw error }
            return Answer(head: response.head, body: Array(response.body), secrets: secrets)
        }
    }

    private func answer(
        _ call: S3Call, _ url: TransferURL, _ fields: [BlobHTTPField]
    ) async throws(BlobError) -> Answer {
        var request = TransferRequest(url)
        (request.isHead, request.isDelete) = (call.method == "HEAD", call.method == "DELETE")
        (request.settings, request.privateFields) = (self.requests.service.settings, fields)
        (request.maximumRedirectionCount, request.idleLimit) = (0, self.limits.idleLimit)
        do throws(BlobError) {
            let (head, body) = try await request.answer(upTo: Self.maximumAnswerByteCount, context: self.context)
            return Answer(
                head: head, body: body,
                secrets: SentSecrets([url.text], fields, self.requests.service.settings))
        } catch {
            var error = error
            error.operation = error.operation ?? "write"
            throw error
        }
    }

    /// Returns the names of the digests that the store stated and that were compared; nil if none were compared.
    static func check(_ hasChecksum: Bool, _ hasTag: Bool) -> String? {
        let names = (hasChecksum ? ["CRC-64/NVME"] : []) + (hasTag ? ["MD5 (ETag)"] : [])
        return names.isEmpty ? nil : names.joined(separator: " and ")
    }

    static func corruptionError(_ what: String) -> BlobError {
        BlobError(
            .corrupted, "The store's response \(what)\(what.hasSuffix(".") ? "" : ".")", operation: "write",
            isTransient: false)
    }
}
