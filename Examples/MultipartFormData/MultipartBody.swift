public import BlobCore

/// The body of a form with its `Content-Type`, as a data source.
///
/// Streams, seeks and replays as its parts do: any offset can be opened if they have random access, repeatedly if they
/// are repeatable. Reading reaches the end only if every part is still as it was when the body was made. A part that
/// has changed throws ``BlobError/Code/changed``, one that ends early ``BlobError/Code/truncated``, and one with more
/// bytes ``BlobError/Code/sizeMismatch``; the message names the part. The body never has another length.
public struct MultipartBody: BlobInputStreamDataSource {
    /// The boundary between the parts.
    public let boundary: MultipartBoundary
    /// The length in bytes, for `Content-Length`; nil when the length of a part is unknown.
    public let byteCount: Int64?
    /// The traits that all parts have.
    public let traits: BlobTraits
    private let parts: ConcatenatedSource
    private let validator: BlobValidator?
    private let isRandomAccess: Bool
    private let throttle: MultipartThrottle?

    init(
        boundary: MultipartBoundary, _ parts: [any BlobInputStreamDataSource], validator: BlobValidator?,
        throttle: MultipartThrottle?
    ) {
        self.boundary = boundary
        self.parts = ConcatenatedSource(parts)
        // Opening does not block for the info of parts, which is known.
        let neverBlocks = parts.allSatisfy { $0.traits.contains(.neverBlocks) }
        self.traits = neverBlocks ? self.parts.traits.union(.neverBlocks) : self.parts.traits
        self.validator = validator
        self.throttle = throttle
        // Does not block: the parts return the info with which they were created.
        let info = try? self.parts.info()
        (self.byteCount, self.isRandomAccess) = (info?.byteCount, info?.isRandomAccess == true)
    }

    /// The value of the header `Content-Type` for this body, with its boundary.
    public var contentType: String { "multipart/form-data; boundary=\(self.boundary.text)" }

    /// Returns the length, ``contentType`` as the media type, and a validator made of the boundary, headers, values and
    /// the validators of all other parts, which is the same for the same form in another process.
    public func describe(_ context: BlobContext) -> BlobInfo {
        BlobInfo(
            byteCount: self.byteCount, mediaType: self.contentType, validator: self.validator,
            isRandomAccess: self.isRandomAccess)
    }

    /// Makes a reader at a byte offset, and opens only the part that contains it.
    public func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let info = self.describe(context)
        try info.check(byteOffset: byteOffset, matching: validator)
        let reader = BodyReader(
            try self.parts.makeReader(at: byteOffset, matching: nil, context: context), info: info)
        return self.throttle.map { ThrottledBodyReader(reader, $0, context) } ?? reader
    }
}

/// A reader with the info of the body instead of that of its parts.
private final class BodyReader: BlobPluginReader {
    let info: BlobInfo
    private let base: any BlobPluginReader

    init(_ base: any BlobPluginReader, info: BlobInfo) { (self.base, self.info) = (base, info) }

    var isOpen: Bool { self.base.isOpen }
    var neverBlocks: Bool { self.base.neverBlocks }
    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }
    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
    func close() { self.base.close() }
}
