public import BlobCore
import BlobDeflate

/// A source that encodes the bytes of another source as a gzip of one member, as for `Content-Encoding: gzip`.
///
/// The same bytes, level and version of zlib always give the same gzip, however the base delivers the bytes: the header
/// contains no name, no time and no system (RFC 1952). The length is not known before the end, and the info has none.
///
/// Memory use does not grow with the blob: a reader takes about 400 KiB. It collects 64 KiB before it encodes them,
/// which may delay the bytes of a slow base. There is no random access: a reader at an offset encodes and discards the
/// bytes before it. Over an event-driven base the readers are event-driven too. The errors are those of the base.
public struct GzipEncodedSource: BlobLayer {
    /// The default level: the compromise between speed and size that zlib uses by default.
    public static let defaultLevel = 6

    /// The source of the bytes to encode.
    public var underlying: any BlobInputStreamDataSource { self.base }

    private let base: any BlobInputStreamDataSource
    private let level: Int

    /// Creates a source that encodes `base`.
    ///
    /// - Parameters:
    ///   - base: The source of the bytes to encode.
    ///   - level: 0 (not compressed) to 9 (smallest, slowest).
    public init(_ base: any BlobInputStreamDataSource, level: Int = Self.defaultLevel) {
        precondition((0...9).contains(level), "The level of a gzip is 0 to 9.")
        self.base = base
        self.level = level
    }

    /// The traits of the base.
    public var traits: BlobTraits { self.base.traits }

    /// Returns the facts known without encoding: the name of the base with `.gz`, `application/gzip`, and a validator
    /// made from that of the base.
    public func describe(_ context: BlobContext) throws -> BlobInfo { self.encoded(try self.base.info(context)) }

    /// Opens the base at its start, without reading it.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let encoder = try GzipEncoder(level: self.level, info: self.encoded)
        return .transform(try self.base.open(context: opening.context), encoder, startingAt: 0)
    }

    /// Returns the info of the encoded bytes, from the info of the base.
    private func encoded(_ base: BlobInfo) -> BlobInfo {
        BlobInfo(
            mediaType: "application/gzip", name: base.name.map { "\($0).gz" },
            // Another version of zlib may produce other bytes.
            validator: base.validator.map { .combined("gzip-\(self.level)-zlib-\(Deflater.version)", [$0]) })
    }
}
