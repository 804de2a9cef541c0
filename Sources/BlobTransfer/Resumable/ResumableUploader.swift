package import BlobCore
import BlobPlatform

/// Uploads a source by tus 1.0.0, in as many requests as it takes: after each that fails, the server is asked for the
/// number of bytes that it has, and the rest is sent.
///
/// With a state file, another process continues where this one was killed. The content is compared by its validator: a
/// weak one, such as size and times of a file, identifies it in all likelihood only. Bytes are protected by the
/// connection alone: no checksum of the protocol is sent.
package struct ResumableUploader: Sendable {
    /// The number of failures without progress after which an upload that the server knows fails.
    private static let defaultPatience = 8

    private static let firstPause = Duration.milliseconds(250)
    private static let longestPause = Duration.seconds(30)

    /// The statuses after which the server is asked again: a lock or an offset of a request that has not ended there,
    /// damaged bytes, and temporary states of servers and gateways.
    private static let transientStatuses: Set = [408, 409, 423, 425, 429, 460, 500, 502, 503, 504]

    /// The statuses of uploads that the server has not, or no longer.
    private static let missingStatuses: Set = [404, 410]

    /// The request that creates the upload, by `POST`; its limits and fields are those of all requests. `Content-Type`
    /// replaces the media type of the source, as the upload's metadata.
    package var request: BlobUploadRequest

    /// The file that another process continues from; removed in the end. Nil to keep no state.
    package var stateFile: UploadStateFile?

    /// The boundary of a form, kept in the state.
    package var boundary: String?

    /// The number of failures in a row, without a byte of progress, before the upload fails; nil for 8, or none while
    /// no connection has been made.
    package var patience: Int?

    /// Called with each error after which the upload goes on.
    package var onRecovery: (@Sendable (BlobError) -> Void)?

    package init(_ request: BlobUploadRequest) { self.request = request }

    /// Uploads a source, and returns the URL of its upload when the server has all bytes.
    ///
    /// A state of other content is replaced. An upload that the server no longer has begins anew, once.
    ///
    /// - Parameter source: A repeatable source with a validator and a known length.
    /// - Throws: ``BlobError/Code/unsupported`` for another source, ``BlobError/Code/changed`` when its content changes
    ///   before the end, and the errors of ``BlobUploader/upload(_:with:matching:context:)``, which leave the state.
    package func upload(
        _ source: any BlobInputStreamDataSource, context: BlobContext = BlobContext()
    ) throws(BlobError) -> String {
        let client = try TusClient(self.request, context)
        let info = try source.info(context)
        guard source.traits.contains(.repeatable), let byteCount = info.byteCount, let validator = info.validator else {
            throw BlobError(
                .unsupported, "A resumable upload needs a source of known length that can be read and compared again.",
                locator: source.locator?.description)
        }
        var state = self.stateFile?.load().flatMap {
            $0.url == self.request.url && $0.byteCount == byteCount && $0.validator == validator.text ? $0 : nil
        }
        var (failures, progress, pause) = (0, Int64(-1), Self.firstPause)
        var hasBegunAnew = false
        while true {
            do throws(BlobError) {
                let current: UploadState
                if let state { current = state } else { current = try self.create(client, info, byteCount, validator) }
                let isNew = state == nil
                state = current
                let offset = isNew ? 0 : try client.offset(of: current.location, byteCount: byteCount)
                if offset > progress { (failures, progress, pause) = (0, offset, Self.firstPause) }
                if offset < byteCount {
                    let end = try self.append(source, from: offset, validator, current, client, context)
                    guard end == byteCount else { continue }
                }
                self.stateFile?.remove()
                return current.location
            } catch {
                let status = (error.cause as? BlobUploadRefusal)?.response.status ?? 0
                if state != nil, Self.missingStatuses.contains(status), !hasBegunAnew {
                    (state, hasBegunAnew, progress) = (nil, true, -1)
                    self.onRecovery?(error)
                    continue
                }
                let isUnknown = state == nil && error.code == .unavailable
                failures += 1
                let patience = self.patience ?? (isUnknown ? 0 : Self.defaultPatience)
                guard failures <= patience, Self.mayRecover(error, status) else { throw error }
                self.onRecovery?(error)
                try context.pause(for: max(pause, error.retryDelay ?? .zero))
                pause = min(pause * 2, Self.longestPause)
            }
        }
    }

    private func create(
        _ client: TusClient, _ info: BlobInfo, _ byteCount: Int64, _ validator: BlobValidator
    ) throws(BlobError) -> UploadState {
        let type = self.request.fields.first { $0.name.lowercased() == "content-type" }?.value
        let location = try client.create(
            byteCount: byteCount, name: info.name ?? "upload",
            mediaType: type ?? info.mediaType ?? "application/octet-stream")
        let state = UploadState(
            url: self.request.url, location: location, byteCount: byteCount, validator: validator.text,
            boundary: self.boundary)
        try self.stateFile?.store(state)
        return state
    }

    /// Sends the rest of the source.
    ///
    /// - Returns: The number of bytes that the server has then.
    private func append(
        _ source: any BlobInputStreamDataSource, from offset: Int64, _ validator: BlobValidator, _ state: UploadState,
        _ client: TusClient, _ context: BlobContext
    ) throws(BlobError) -> Int64 {
        guard try source.info(context).validator == validator else {
            throw BlobError(
                .changed, "The content changed when \(offset) bytes of it had been uploaded.",
                operation: "read", locator: source.locator?.description, byteOffset: offset)
        }
        let rest: any BlobInputStreamDataSource = offset > 0 ? source.slice(offset...) : source
        let sliced = offset > 0 ? BlobValidator.combined("slice-\(offset)-end", [validator]) : validator
        return try client.append(
            rest, from: offset, matching: sliced, byteCount: state.byteCount, to: state.location)
    }

    private static func mayRecover(_ error: BlobError, _ status: Int) -> Bool {
        guard error.operation == "write" else { return false }
        return switch error.code {
        case .refused: self.transientStatuses.contains(status)
        case .io, .truncated, .timedOut: true
        case .unavailable: error.isTransient
        default: false
        }
    }
}
