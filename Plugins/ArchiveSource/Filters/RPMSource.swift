import BlobCore

/// The payload of an RPM package: the bytes after its lead and its two headers.
///
/// The payload is usually a compressed cpio of the package's files. The digests in the headers are not checked, because
/// the format of the payload has its own checks.
struct RPMSource: BlobLayer {
    /// The signature of a package (rpm.org, "RPM V4 Package format").
    static let signature: [UInt8] = [0xED, 0xAB, 0xEE, 0xDB]

    private let base: any BlobInputStreamDataSource

    init(_ base: any BlobInputStreamDataSource) { self.base = base }

    var underlying: any BlobInputStreamDataSource { self.base }
    var traits: BlobTraits { self.base.traits.subtracting(.neverBlocks) }
    var locator: BlobLocator? { try? self.base.locator?.wrapped(in: "rpm") }

    func describe(_ context: BlobContext) throws -> BlobInfo { RPMPayload().info(of: try self.base.info(context)) }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody {
        .inspected(try self.base.open(context: opening.context), RPMPayload(), startingAt: 0)
    }
}

/// Drops the lead and the two headers of a package.
private struct RPMPayload: BlobInspector {
    private enum Section { case lead, signatureHeader, header, payload }

    private static let leadByteCount: Int64 = 96
    private static let introByteCount = 16
    /// The limits of the program `rpm` for a header: 65,535 tags and 256 MiB of data.
    private static let (maximumTagCount, maximumDataByteCount) = (0xFFFF, 256 << 20)

    private var section = Section.lead
    /// The offset at which the section begins; the bytes before it are discarded.
    private var sectionOffset: Int64 = 0
    /// The first bytes of the section received so far.
    private var beginning: [UInt8] = []

    func info(of base: BlobInfo) -> BlobInfo {
        let name = base.name.map { $0.lowercased().hasSuffix(".rpm") ? String($0.dropLast(4)) : $0 }
        return BlobInfo(name: name, validator: base.validator.map { .combined("rpm", [$0]) })
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        var place = 0
        while true {
            place += Int(
                clamping: min(max(self.sectionOffset - byteOffset - Int64(place), 0), Int64(bytes.byteCount - place)))
            guard byteOffset + Int64(place) >= self.sectionOffset else { break }
            if self.section == .payload { return place..<bytes.byteCount }
            let wanted =
                (self.section == .lead ? RPMSource.signature.count : Self.introByteCount) - self.beginning.count
            bytes.withUnsafeBytes { self.beginning += $0[place...].prefix(wanted) }
            guard bytes.byteCount - place >= wanted else { break }
            place += wanted
            try self.parse(self.beginning)
            self.beginning = []
        }
        guard !isLast else {
            throw BlobError(.truncated, "The RPM package ends too early.", byteOffset: byteOffset)
        }
        return 0..<0
    }

    /// Parses the first bytes of a section, which determine where the next section begins.
    private mutating func parse(_ bytes: [UInt8]) throws(BlobError) {
        guard self.section != .lead else {
            guard bytes == RPMSource.signature else {
                throw BlobError(.corrupted, "Not an RPM package: the signature at its start is missing.", byteOffset: 0)
            }
            (self.section, self.sectionOffset) = (.signatureHeader, Self.leadByteCount)
            return
        }
        let (tagCount, dataCount) = (Int(bytes[8..<12].bigEndian), Int(bytes[12..<16].bigEndian))
        guard bytes.starts(with: [0x8E, 0xAD, 0xE8]), tagCount <= Self.maximumTagCount,
            dataCount <= Self.maximumDataByteCount
        else { throw BlobError(.corrupted, "A header of the RPM package is damaged.", byteOffset: self.sectionOffset) }
        let end = self.sectionOffset + Int64(Self.introByteCount + 16 * tagCount + dataCount)
        // Only the first header is padded to a multiple of eight bytes.
        (self.section, self.sectionOffset) =
            self.section == .signatureHeader ? (.header, (end + 7) & ~7) : (.payload, end)
    }
}
