import BlobCore
import BlobDeflate
internal import BlobIndex
internal import GzipSource

/// A large deflated member of a zip, decoded with restart points of its own.
///
/// The first read of the whole member stores them in the index file of the archive.
struct DeflatedMember: Sendable {
    /// The minimum compressed length in bytes for which an index is worth its space: 4 MiB, which take tens of
    /// milliseconds to decode.
    private static let minimumByteCount: Int64 = 4 << 20

    private let entry: ZipEntry
    private let data: Range<Int64>
    /// The source of the decoded bytes; only ``makeBody(at:_:_:)`` verifies them.
    let source: GzipSource

    /// Returns nil for a member for which an index is not needed or not possible.
    init?(_ found: ZipSearch.FoundEntry, over base: any BlobInputStreamDataSource, _ index: BlobIndexPolicy) {
        guard ZipStream.Method(rawValue: found.entry.method) == .deflated, found.entry.encryption == nil,
            index != .none, found.entry.compressedByteCount >= Self.minimumByteCount, found.scanner.hasRandomAccess
        else { return nil }
        self.entry = found.entry
        self.data = found.data
        self.source = GzipSource(
            DeflateData(underlying: base, range: found.data, index: found.entry.index), format: .deflate, index: index)
    }

    /// Returns the bytes of the member from an offset on.
    func makeBody(at byteOffset: Int64, _ info: BlobInfo, _ context: BlobContext) throws(BlobError) -> BlobBody {
        var own = context
        // The member has a checksum, although its deflate data has none.
        own.reportsEnds = false
        let inflated = InflatedMember(
            info: info, data: self.data, isWhole: byteOffset == 0, sum: ZipEntrySum(self.entry, at: byteOffset),
            context: context)
        return .inspected(try self.source.open(at: byteOffset, context: own), inflated, startingAt: byteOffset)
    }
}

/// The compressed bytes of a member, with the locator of the member.
private struct DeflateData: BlobLayer {
    let underlying: any BlobInputStreamDataSource
    let range: Range<Int64>
    let index: Int

    private var slice: any BlobInputStreamDataSource { self.underlying.slice(self.range) }

    var traits: BlobTraits { self.slice.traits }

    var locator: BlobLocator? {
        (try? self.underlying.locator?.wrapped(in: ArchiveFormat.zip.rawValue))?.selecting(.index(self.index))
    }

    func describe(_ context: BlobContext) throws -> BlobInfo {
        var info = try self.slice.info(context)
        info.statusChangeTime = try self.underlying.info(context).statusChangeTime
        return info
    }

    func makeBody(_ opening: BlobOpening) throws -> BlobBody { try self.slice.makeBody(opening) }
}

/// Compares the length of a deflated member with the length in the directory, and also the checksum if all bytes are
/// read.
private struct InflatedMember: BlobInspector {
    let info: BlobInfo
    /// The range of the compressed bytes in the archive.
    let data: Range<Int64>
    let isWhole: Bool
    var sum: ZipEntrySum
    let context: BlobContext

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        try bytes.withUnsafeBytes { try self.sum.append($0) }
        if isLast { try self.sum.end(hasAllBytes: self.isWhole, self.context) }
        return 0..<bytes.byteCount
    }

    /// Returns the error with its offset in the archive, and with the code for a member.
    func reportedError(_ error: BlobError) -> BlobError {
        var error = error
        error.byteOffset = error.byteOffset.map { $0 + self.data.lowerBound }
        error.locator = nil
        switch error.code {
        case .trailingData: return ZipStream.earlyEndError(at: error.byteOffset ?? self.data.upperBound)
        case .truncated where error.byteOffset == self.data.upperBound:
            return ZipStream.lateEndError(at: self.data.upperBound)
        default: return error
        }
    }
}
