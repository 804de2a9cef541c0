import BlobStreams

/// The body of a form, and the `Content-Type` that belongs to it: a source like any other.
///
/// Streams, seeks and replays as its parts do: any offset can be opened when they have random access, again and again
/// when they are repeatable. The end means that every part was what it was when the body was made: one that changed is
/// ``BlobError/Code/changed``, one that ends too early ``BlobError/Code/truncated``, one that goes on
/// ``BlobError/Code/sizeMismatch``, always with the part in the message, and never a body of another length.
public struct MultipartBody: BlobInputStreamDataSource {
    /// The boundary between the parts.
    public let boundary: MultipartBoundary
    /// The length in bytes, for `Content-Length`; nil when that of a part is not known.
    public let byteCount: Int64?
    private let parts: ConcatenatedSource
    private let validator: BlobValidator?

    init(boundary: MultipartBoundary, _ parts: ConcatenatedSource, validator: BlobValidator?) {
        self.boundary = boundary
        self.parts = parts
        self.validator = validator
        // The parts tell what they were told; none is asked.
        self.byteCount = try? parts.checkedInfo().byteCount
    }

    /// The value of the header `Content-Type` of this very body.
    public var contentType: String { "multipart/form-data; boundary=\(self.boundary.text)" }

    /// True when no part ever blocks.
    public var neverBlocks: Bool { self.parts.neverBlocks }

    /// The abilities that all parts have.
    public var capabilities: BlobCapabilities { self.parts.capabilities }

    /// The length; ``contentType`` as the media type; an identity made of the boundary, headers, values and the
    /// identities of all other parts, which is the same for the same form in another process.
    public func info(_ context: BlobContext) -> BlobInfo {
        BlobInfo(byteCount: self.byteCount, mediaType: self.contentType, validator: self.validator)
    }

    /// Opens the part that holds `byteOffset`.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        let info = self.info(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        return BodyReader(
            try self.parts.openReader(at: byteOffset, matching: nil, context: context), info: info)
    }
}

/// Says of itself what the body says.
private final class BodyReader: BlobReader {
    let info: BlobInfo
    private let base: any BlobReader

    init(_ base: any BlobReader, info: BlobInfo) { (self.base, self.info) = (base, info) }

    var isOpen: Bool { self.base.isOpen }
    var neverBlocks: Bool { self.base.neverBlocks }
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }
    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
    func close() { self.base.close() }
}
