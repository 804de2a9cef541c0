import BlobStreams

/// What another source holds compressed, decoded: gzip, zlib or raw deflate.
///
/// The end means that every byte arrived and that every checksum and length that the format carries was right; raw
/// deflate carries none. All members of a gzip are read, one after the other, and zero bytes may follow the last;
/// anything else behind the end is ``BlobError/Code/trailingData``, thrown after the last good byte.
///
/// Memory does not grow with the blob: a reader has a buffer for compressed bytes and the decoder's window, and decodes
/// straight into the caller's memory. There is no random access: at an offset the bytes before it are decoded and
/// dropped. Over an event-driven base the readers are event-driven too.
///
/// The errors of decoding are ``BlobError/Code/corrupted``, ``BlobError/Code/truncated``,
/// ``BlobError/Code/checksumMismatch``, ``BlobError/Code/sizeMismatch``, ``BlobError/Code/trailingData``,
/// ``BlobError/Code/unsupported`` and ``BlobError/Code/limitExceeded``. Their locator is the base's, and their byte
/// offset that in the compressed bytes.
public struct GzipSource: BlobInputStreamDataSource {
    /// What is around the deflate data.
    public enum Format: String, Sendable, CaseIterable {
        /// RFC 1952: members with a header, CRC-32 and length each.
        case gzip
        /// RFC 1950: a header of two bytes and an Adler-32. What HTTP calls `deflate`.
        case zlib
        /// RFC 1951: nothing, so that a damaged byte may go unnoticed.
        case deflate
    }

    private let base: any BlobInputStreamDataSource
    private let format: Format

    /// Creates a source of what `base` holds compressed.
    public init(_ base: any BlobInputStreamDataSource, format: Format = .gzip) {
        self.base = base
        self.format = format
    }

    /// Those of the base but random access.
    public var capabilities: BlobCapabilities { self.base.capabilities.subtracting(.randomAccess) }

    /// That of the base inside of one more wrapper.
    ///
    /// Nil for a member of a container: whether the wrapper belongs around the member or around the container is not
    /// for the locator to tell.
    public var locator: BlobLocator? {
        guard let base = self.base.locator, base.selectors.isEmpty else { return nil }
        return try? base.wrapped(in: self.format.rawValue)
    }

    /// What is known without decoding: the name, without the extension of the format, and the validator, which is made
    /// from the base's.
    ///
    /// The length is never known before the end: a gzip says the length of its last member only, and only modulo 2^32.
    public func info(_ context: BlobContext) throws -> BlobInfo { self.decoded(try self.base.checkedInfo(context)) }

    /// Opens a reader of the base at its start; nothing is read yet.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try BlobInfo().check(byteOffset: byteOffset, matching: nil)
        var baseValidator: BlobValidator?
        if let validator {
            let baseInfo = try self.base.checkedInfo(context)
            try self.decoded(baseInfo).check(byteOffset: byteOffset, matching: validator)
            baseValidator = baseInfo.validator
        }
        let reader = try self.base.pollableReader(matching: baseValidator, context: context)
        return SkippingReader(
            GzipReader(reader, self.format, locator: self.base.locator, info: self.decoded), bytesToSkip: byteOffset)
    }

    /// What the info of the base says of the decoded bytes.
    private func decoded(_ base: BlobInfo) -> BlobInfo {
        BlobInfo(
            name: base.name.map(self.format.decodedName),
            validator: base.validator.map { .combined(self.format.rawValue, [$0]) })
    }
}
