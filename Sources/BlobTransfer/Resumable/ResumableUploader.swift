public import BlobCore
import BlobPlatform

/// Uploads a source in as many requests as it takes: after each that fails, the server is asked for the number of bytes
/// that it has, and the rest is sent.
///
/// ```swift
/// var uploader = ResumableUploader(BlobUploadRequest(.post, "https://host/files/"))
/// uploader.stateFile = UploadStateFile(path: "photo.upload")
/// let url = try await uploader.upload(source)
/// ```
///
/// With a state file, another process continues where this one was killed. The content is compared by its validator: a
/// weak one, such as size and times of a file, identifies it in all likelihood only. Bytes are protected by the
/// connection alone: no checksum of the protocol is sent.
public struct ResumableUploader: Sendable {
    /// The statuses of uploads that the server has not, or no longer.
    private static let missingStatuses: Set = [404, 410]

    /// The request that creates the upload, by `POST`; its limits and fields are those of all requests. `Content-Type`
    /// replaces the media type of the source, as the upload's metadata.
    public var request: BlobUploadRequest

    /// The protocol of the server; tus by default.
    public var wireProtocol = ResumableProtocol.tus

    /// The number of parts that are uploaded at once, from 1; more than one only by tus, to a server that joins them,
    /// and from a source with random access. The rate limit of the request is divided among them.
    public var partCount = 1

    /// The file that another process continues from; removed in the end. Nil to keep no state.
    public var stateFile: UploadStateFile?

    /// The boundary of a form, kept in the state: with the same one, a form is the same bytes again.
    public var boundary: String?

    /// The number of failures in a row, without a byte of progress, before the upload fails; nil for 8, or none while
    /// no connection has been made.
    public var patience: Int?

    /// Called with each error after which the upload goes on, by any thread.
    public var onRecovery: (@Sendable (BlobError) -> Void)?

    /// Called as ``onRecovery`` is, with the number of the attempt that follows, and of those in a row at most.
    package var onAttempt: (@Sendable (_ error: BlobError, _ number: Int, _ limit: Int) -> Void)?

    /// Creates an uploader that keeps no state.
    ///
    /// - Parameter request: The request that creates the upload.
    public init(_ request: BlobUploadRequest) { self.request = request }

    /// Uploads a source, and returns the URL of its upload when the server has all bytes.
    ///
    /// A state of other content is replaced. An upload that the server no longer has begins anew, once.
    ///
    /// Cancelling the task or the context ends the upload at once, and leaves the state.
    ///
    /// - Parameters:
    ///   - source: A repeatable source with a validator and a known length.
    ///   - context: The context; its idle limit applies to each request.
    /// - Throws: ``BlobError/Code/unsupported`` for another source, ``BlobError/Code/changed`` when its content changes
    ///   before the end, ``BlobError/Code/unavailable`` while another uploader uses the state file, and the errors of
    ///   ``BlobUploader/upload(_:with:matching:context:)``, which leave the state.
    public func upload(
        _ source: any BlobInputStreamDataSource, context: BlobContext = BlobContext()
    ) async throws(BlobError) -> String {
        let context = context.makeChild()
        do {
            return try await withTaskCancellationHandler {
                try await self.repeatingUpload(source, context)
            } onCancel: {
                context.cancellation.cancel()
            }
        } catch {
            throw BlobError(wrapping: error)
        }
    }

    private func repeatingUpload(
        _ source: any BlobInputStreamDataSource, _ context: BlobContext
    ) async throws(BlobError) -> String {
        let info = try await BlockingPool.openings.value { () throws(BlobError) in try source.info(context) }
        guard source.traits.contains(.repeatable), let byteCount = info.byteCount, let validator = info.validator,
            self.partCount == 1 || info.isRandomAccess
        else {
            throw BlobError(
                .unsupported, "A resumable upload needs a source of known length that can be read and compared again.",
                locator: source.locator?.description)
        }
        let lock = try self.stateFile?.lock()
        defer { lock?.release() }
        let content = ResumableContent(source: source, info: info, byteCount: byteCount, validator: validator)
        var upload = try ResumableUpload(self, content, context)
        var state = self.stateFile?.load().flatMap { upload.isContinued(by: $0) ? $0 : nil }
        var recovery = UploadRecovery(patience: self.patience)
        var hasBegunAnew = false
        while true {
            do throws(BlobError) {
                let isNew = state == nil
                let current: UploadState
                if let state { current = state } else { current = try await upload.create() }
                state = current
                let location = try await upload.finish(current, isNew: isNew)
                self.stateFile?.remove()
                return location
            } catch {
                if state == nil {
                    let pause = try recovery.pause(after: error, isUnknown: true)
                    self.report(error, recovery)
                    try await context.sleep(for: pause)
                } else {
                    let status = (error.cause as? BlobUploadRefusal)?.response.status ?? 0
                    guard Self.missingStatuses.contains(status), !hasBegunAnew else { throw error }
                    (state, hasBegunAnew) = (nil, true)
                    upload = try ResumableUpload(self, content, context)
                    self.report(error, recovery)
                }
            }
        }
    }

    /// Reports an error after which the upload goes on.
    func report(_ error: BlobError, _ recovery: UploadRecovery) {
        self.onRecovery?(error)
        self.onAttempt?(error, max(recovery.failureCount, 1), recovery.limit)
    }
}
