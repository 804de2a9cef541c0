public import BlobCore
import Dispatch

/// The body of a form and its `Content-Type`, as a data source.
///
/// The body streams, seeks and replays as its parts do: any offset can be opened if they have random access, repeatedly
/// if they are repeatable. Reading reaches the end only if every part is unchanged since the body was created. A part
/// that has changed throws ``BlobError/Code/changed``, a part that ends early throws ``BlobError/Code/truncated``, and
/// a part with additional bytes throws ``BlobError/Code/sizeMismatch``. The message names the part. The body never has
/// another length.
public struct MultipartBody: BlobInputStreamDataSource {
    /// The boundary between the parts.
    public let boundary: MultipartBoundary
    /// The length in bytes, for `Content-Length`; nil if the length of a part is unknown.
    public let byteCount: Int64?
    /// The traits that all parts share.
    public let traits: BlobTraits
    private let parts: [(source: any BlobInputStreamDataSource, info: BlobInfo?)]
    /// A semaphore with one signal, which is consumed by the only opening of a body that is not repeatable.
    private let firstOpening = DispatchSemaphore(value: 0)
    private let validator: BlobValidator?
    private let isRandomAccess: Bool
    private var throttle: MultipartThrottle?

    init(
        boundary: MultipartBoundary, _ parts: [any BlobInputStreamDataSource], validator: BlobValidator?,
        throttle: MultipartThrottle?
    ) {
        self.boundary = boundary
        self.firstOpening.signal()
        let whole = ConcatenatedSource(parts)
        self.traits = whole.traits
        self.validator = validator
        self.throttle = throttle
        // Does not block, because the parts return the info with which they were created.
        self.parts = parts.map { ($0, try? $0.info()) }
        let info = try? whole.info()
        (self.byteCount, self.isRandomAccess) = (info?.byteCount, info?.isRandomAccess == true)
    }

    /// The value of the `Content-Type` header for this body, including its boundary.
    public var contentType: String { "multipart/form-data; boundary=\(self.boundary.text)" }

    /// Returns the length, ``contentType`` as the media type, and a validator.
    ///
    /// The validator is derived from the boundary, headers, values and the validators of all other parts, so that the
    /// same form has the same validator in another process.
    public func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(
            byteCount: self.byteCount, mediaType: self.contentType, validator: self.validator,
            isRandomAccess: self.isRandomAccess)
    }

    /// Joins the parts, and opens only the part that contains the offset.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        if let throttle {
            var unlimited = self
            unlimited.throttle = nil
            let base = try unlimited.open(
                at: opening.byteOffset, matching: opening.validator, context: opening.context)
            return .inspected(base, Packets(throttle), startingAt: opening.byteOffset)
        }
        let info = self.describe(opening.context)
        try info.check(byteOffset: opening.byteOffset, matching: opening.validator)
        // Rejected now rather than when reading reaches a part that can be read only once.
        guard self.traits.contains(.repeatable) || self.firstOpening.wait(timeout: .now()) == .success else {
            throw BlobError(
                .unsupported, "A part of this body can be read only once, and the body has already been opened.")
        }
        return .joined(self.parts, info)
    }
}
