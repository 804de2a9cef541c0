import BlobCore

/// The payload of an RPM package: the bytes after its lead and its two headers.
///
/// Usually a compressed cpio of its files. The digests in the headers are not checked, because the format of the
/// payload has its own checks.
struct RPMSource: BlobLayer {
    /// The signature of a package (rpm.org, "RPM V4 Package format").
    static let signature: [UInt8] = [0xED, 0xAB, 0xEE, 0xDB]

    private static let leadByteCount: Int64 = 96
    private static let introByteCount = 16
    /// The limits of rpm itself for a header: 65,535 tags and 256 MiB of data.
    private static let (maximumTagCount, maximumDataByteCount) = (0xFFFF, 256 << 20)

    private let base: any BlobInputStreamDataSource

    init(_ base: any BlobInputStreamDataSource) { self.base = base }

    var underlying: any BlobInputStreamDataSource { self.base }
    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }
    var locator: BlobLocator? { try? self.base.locator?.wrapped(in: "rpm") }

    func describe(_ context: BlobContext) throws -> BlobInfo { Self.info(of: try self.base.info(context)) }

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        let reader = try self.base.open(context: context)
        do {
            let info = Self.info(of: try reader.info(of: self.base, context))
            try info.check(byteOffset: byteOffset, matching: validator)
            try Self.goToPayload(reader)
            let payload = PayloadReader(reader, info: info)
            return payload.skipping(byteOffset)
        } catch {
            reader.close()
            throw error
        }
    }

    private static func info(of base: BlobInfo) -> BlobInfo {
        let name = base.name.map { $0.lowercased().hasSuffix(".rpm") ? String($0.dropLast(4)) : $0 }
        return BlobInfo(name: name, validator: base.validator.map { .combined("rpm", [$0]) })
    }

    /// Skips the lead and the headers, of which only the first is padded to a multiple of eight bytes.
    private static func goToPayload(_ reader: BlobReader) throws {
        guard try Self.read(Self.signature.count, from: reader) == Self.signature else {
            throw BlobError(.corrupted, "This is no package of RPM: it begins with other bytes.", byteOffset: 0)
        }
        try Self.skip(to: Self.leadByteCount, reader)
        for isSignature in [true, false] {
            let start = reader.byteOffset
            let intro = try Self.read(Self.introByteCount, from: reader)
            let (tagCount, dataCount) = (Self.number(intro[8..<12]), Self.number(intro[12..<16]))
            guard intro.starts(with: [0x8E, 0xAD, 0xE8]), tagCount <= Self.maximumTagCount,
                dataCount <= Self.maximumDataByteCount
            else { throw BlobError(.corrupted, "A header of the package of RPM is broken.", byteOffset: start) }
            let end = reader.byteOffset + Int64(16 * tagCount + dataCount)
            try Self.skip(to: isSignature ? (end + 7) & ~7 : end, reader)
        }
    }

    private static func number(_ bytes: ArraySlice<UInt8>) -> Int { bytes.reduce(0) { $0 << 8 | Int($1) } }

    private static func read(_ count: Int, from reader: BlobReader) throws -> [UInt8] {
        try [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            while filled < count {
                let rest = UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(buffer)[filled...])
                let more = try reader.readWaiting(into: rest)
                guard more > 0 else {
                    throw BlobError(.truncated, "The package of RPM ends too early.", byteOffset: reader.byteOffset)
                }
                filled += more
            }
        }
    }

    private static func skip(to byteOffset: Int64, _ reader: BlobReader) throws {
        while reader.byteOffset < byteOffset {
            _ = try Self.read(Int(min(byteOffset - reader.byteOffset, 1 << 16)), from: reader)
        }
    }
}

private final class PayloadReader: BlobPluginReader {
    let info: BlobInfo
    private let base: BlobReader

    init(_ base: BlobReader, info: BlobInfo) {
        self.base = base
        self.info = info
    }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult { try self.base.read(into: &output) }
    func whenReadable(_ waker: BlobWaker) { self.base.whenReadable(waker) }
    func close() { self.base.close() }
}
