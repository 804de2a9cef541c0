public import BlobCore
import BlobDeflate

/// A source that encodes the bytes of another source as a single-member gzip stream, as for `Content-Encoding: gzip`.
///
/// The same bytes, level and version of zlib always produce the same gzip stream, regardless of how the base delivers
/// the bytes: the header contains no name, time or system (RFC 1952). The length is not known before the end, so the
/// info has no length.
///
/// Memory use does not grow with the blob: a reader uses about 400 KiB. A reader collects 64 KiB before it encodes
/// them, which may delay the bytes of a slow base. Random access is not supported: a reader at an offset encodes and
/// discards the bytes before it. Readers over an event-driven base are event-driven too. All errors are errors of the
/// base.
public struct GzipEncodedSource: BlobLayer {
    /// The default zlib level, a compromise between speed and size.
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
        precondition((0...9).contains(level), "The compression level must be from 0 to 9.")
        self.base = base
        self.level = level
    }

    /// The traits of the base.
    public var traits: BlobTraits { self.base.traits }

    /// Returns the facts known without encoding: the name of the base with `.gz`, `application/gzip`, and a validator
    /// derived from the base's validator.
    public func describe(_ context: BlobContext) throws -> BlobInfo { self.encodedInfo(try self.base.info(context)) }

    /// Opens the base at its start, without reading it.
    public func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        let encoder = try GzipEncoder(level: self.level, info: self.encodedInfo)
        return .transform(try self.base.open(context: opening.context), encoder, startingAt: 0)
    }

    /// Returns the info of the encoded bytes, derived from the info of the base.
    private func encodedInfo(_ base: BlobInfo) -> BlobInfo {
        BlobInfo(
            mediaType: "application/gzip", name: base.name.map { "\($0).gz" },
            // Another version of zlib may produce other bytes.
            validator: base.validator.map { .combined("gzip-\(self.level)-zlib-\(Deflater.version)", [$0]) })
    }
}

/// Encodes one gzip member (RFC 1952).
///
/// The output depends only on the bytes and the level, because zlib always receives 64 KiB of input, except at the end,
/// and an empty output buffer of its own.
final class GzipEncoder: BlobTransform {
    /// The number of bytes to collect and encode at once, and the size of the output buffer.
    private static let bufferByteCount = 64 * 1024

    /// The length of the trailer (CRC-32 and ISIZE) in bytes.
    private static let trailerByteCount = 8

    private let encodedInfo: (BlobInfo) -> BlobInfo
    private var deflater: Deflater
    private let buffer: UnsafeMutableRawBufferPointer
    /// The part of the buffer to deliver.
    private var encodedBytes: UnsafeRawBufferPointer
    /// The number of bytes left to encode; nil before more bytes are collected.
    private var restByteCount: Int?
    private var isDone = false
    private var sum = CRC32()
    private var byteCount: UInt32 = 0

    /// - Parameter info: Derives the info of the encoded bytes from the info of the base.
    init(level: Int, info: @escaping (BlobInfo) -> BlobInfo) throws(BlobError) {
        self.encodedInfo = info
        self.deflater = try Deflater(level: level)
        // No name, time or system (section 2.3), so that the header is always the same. XFL is set as in zlib: 2 for
        // the smallest output, 4 for the fastest.
        let header = GzipHeader.identification + [8, 0, 0, 0, 0, 0, level == 9 ? 2 : level < 2 ? 4 : 0, 255]
        // Last, because an initializer that throws does not run `deinit`.
        self.buffer = .allocate(byteCount: Self.bufferByteCount, alignment: 64)
        self.buffer.copyBytes(from: header)
        self.encodedBytes = UnsafeRawBufferPointer(rebasing: self.buffer[..<header.count])
    }

    deinit { self.buffer.deallocate() }

    func info(of base: BlobInfo) -> BlobInfo { self.encodedInfo(base) }

    func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
        while self.encodedBytes.isEmpty, !self.isDone {
            let rest = self.restByteCount ?? input.byteCount
            if self.restByteCount == nil {
                guard isLast || rest == Self.bufferByteCount else { return .needsInput }
                input.withUnsafeBytes { self.sum.update($0) }
                self.byteCount &+= UInt32(rest)
            }
            let count = try input.extracting(first: rest).withUnsafeBytes { bytes throws(BlobError) in
                try self.encode(bytes, isLast: isLast && rest == input.byteCount)
            }
            input = input.extracting(droppingFirst: count)
        }
        let count = output.append(contentsOf: self.encodedBytes)
        self.encodedBytes = UnsafeRawBufferPointer(rebasing: self.encodedBytes[count...])
        return self.isDone && self.encodedBytes.isEmpty ? .end : .full
    }

    /// Encodes more bytes, and returns the number of bytes consumed.
    private func encode(_ bytes: UnsafeRawBufferPointer, isLast: Bool) throws(BlobError) -> Int {
        var rest = bytes
        var output = OutputRawSpan(buffer: self.buffer, initializedCount: 0)
        let isAtEnd = try self.deflater.encode(&rest, isLast: isLast, into: &output)
        if isAtEnd, output.freeCapacity >= Self.trailerByteCount {
            output.append(self.sum.value.littleEndian, as: UInt32.self)
            output.append(self.byteCount.littleEndian, as: UInt32.self)
            self.isDone = true
        }
        // If there is no room for the trailer at the end, the next call appends it; zlib then reports the end again.
        self.restByteCount = isAtEnd || output.freeCapacity == 0 ? rest.count : nil
        self.encodedBytes = UnsafeRawBufferPointer(rebasing: self.buffer[..<output.finalize(for: self.buffer)])
        return bytes.count - rest.count
    }
}
