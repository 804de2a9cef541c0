import BlobInflate
import BlobStreams

/// The bytes of another source as a gzip of one member: what `Content-Encoding: gzip` asks for.
///
/// The same bytes, level and version of zlib always make the same gzip, however the base hands them out: there is no
/// name, no time and no system in the header (RFC 1952). The length is not known before the end, and not stated.
///
/// Memory does not grow with the blob: a reader takes about 400 KiB. It gathers 64 KiB before it encodes them, so what a
/// slow base hands out may wait. There is no random access: at an offset the bytes before it are encoded and dropped.
/// Over an event-driven base the readers are event-driven too. The errors are the base's.
public struct GzipEncodedSource: BlobLayer {
    /// What zlib takes for a good compromise.
    public static let defaultLevel = 6

    /// What is encoded.
    public var underlying: any BlobInputStreamDataSource { self.base }

    private let base: any BlobInputStreamDataSource
    private let level: Int

    /// Creates a source of `base`, encoded.
    ///
    /// - Parameters:
    ///   - base: Has the bytes.
    ///   - level: 0 (not compressed) to 9 (smallest, slowest).
    public init(_ base: any BlobInputStreamDataSource, level: Int = Self.defaultLevel) {
        precondition((0...9).contains(level), "The level of a gzip is 0 to 9.")
        self.base = base
        self.level = level
    }

    /// True when the base never blocks.
    public var neverBlocks: Bool { self.base.neverBlocks }

    /// Those of the base but random access.
    public var capabilities: BlobCapabilities { self.base.capabilities.subtracting(.randomAccess) }

    /// What is known without encoding: the name of the base with `.gz`, `application/gzip`, and a validator made from the
    /// base's.
    public func info(_ context: BlobContext) throws -> BlobInfo { self.encoded(try self.base.checkedInfo(context)) }

    /// Opens a reader of the base at its start; nothing is read yet.
    public func openReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobReader {
        try BlobInfo().check(byteOffset: byteOffset, matching: nil)
        var baseValidator: BlobValidator?
        if let validator {
            let baseInfo = try self.base.checkedInfo(context)
            try self.encoded(baseInfo).check(byteOffset: byteOffset, matching: validator)
            baseValidator = baseInfo.validator
        }
        let reader = try self.base.open(matching: baseValidator, context: context)
        return SkippingReader(
            GzipEncodedReader(reader, level: self.level, info: self.encoded), bytesToSkip: byteOffset)
    }

    /// What the info of the base says of the encoded bytes.
    private func encoded(_ base: BlobInfo) -> BlobInfo {
        BlobInfo(
            mediaType: "application/gzip", name: base.name.map { "\($0).gz" },
            // Another version of zlib may make other bytes.
            validator: base.validator.map { .combined("gzip-\(self.level)-zlib-\(Deflater.version)", [$0]) })
    }
}
