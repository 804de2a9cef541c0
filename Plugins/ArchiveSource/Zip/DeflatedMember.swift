import BlobCore
import BlobDeflate
internal import BlobIndex
internal import GzipSource

/// A large deflated member of a zip, decoded with restart points of its own, which the first read of the whole member
/// leaves in the index file of the archive.
struct DeflatedMember: IndexedMember {
    /// The compressed length in bytes from which an index is worth its space: 4 MiB, tens of milliseconds of decoding.
    private static let minimumByteCount: Int64 = 4 << 20

    private let entry: ZipEntry
    private let data: Range<Int64>
    private let source: GzipSource

    /// Returns nil for a member that needs no index, or can have none.
    init?(_ found: ZipSearch.Found, over base: any BlobInputStreamDataSource, _ index: BlobIndexPolicy) {
        guard ZipReader.Method(rawValue: found.entry.method) == .deflated, found.entry.encryption == nil,
            index != .none, found.entry.compressedByteCount >= Self.minimumByteCount, found.scanner.hasRandomAccess
        else { return nil }
        self.entry = found.entry
        self.data = found.data
        self.source = GzipSource(
            DeflateData(underlying: base, range: found.data, index: found.entry.index), format: .deflate, index: index)
    }

    func hasIndex(_ context: BlobContext) throws(BlobError) -> Bool { try self.source.info(context).isRandomAccess }

    func makeReader(
        at byteOffset: Int64, _ info: BlobInfo, _ context: BlobContext
    ) throws(BlobError) -> any BlobPluginReader {
        var own = context
        // The member has a checksum, whatever its deflate data have not.
        if let sink = context.eventSink {
            own.eventSink = { event in if event.layer == nil { sink(event) } }
        }
        let reader = try self.source.open(at: byteOffset, context: own)
        return DeflatedMemberReader(reader, self.entry, at: byteOffset, data: self.data, info: info, context)
    }

    func restartPoints(_ context: BlobContext) throws -> RestartPoints? { try self.source.restartPoints(context) }

    func buildIndex(_ context: BlobContext) throws -> Bool { try self.source.buildIndex(context) }

    func verifyIndex(_ context: BlobContext, report: (String) throws -> Void) throws -> Int? {
        try self.source.verifyIndex(context, report: report)
    }
}

/// The compressed bytes of a member, under the locator of the member.
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

    func makeReader(
        at byteOffset: Int64, matching validator: BlobValidator?, context: BlobContext
    ) throws -> any BlobPluginReader {
        try self.slice.open(at: byteOffset, matching: validator, context: context)
    }
}

/// A reader of a deflated member, which compares its length with the directory, and also its checksum when it reads
/// from the beginning.
private final class DeflatedMemberReader: BlobPluginReader {
    let info: BlobInfo
    private let guarded: BlobReader
    private let data: Range<Int64>
    private let isWhole: Bool
    private var sum: ZipEntrySum
    private let context: BlobContext

    init(
        _ guarded: BlobReader, _ entry: ZipEntry, at byteOffset: Int64, data: Range<Int64>, info: BlobInfo,
        _ context: BlobContext
    ) {
        self.context = context
        self.guarded = guarded
        self.data = data
        self.info = info
        self.isWhole = byteOffset == 0
        self.sum = ZipEntrySum(entry, at: byteOffset)
    }

    func whenReadable(_ waker: BlobWaker) { self.guarded.whenReadable(waker) }

    func close() { self.guarded.close() }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let start = output.byteCount
        let result: BlobReadResult
        do {
            result = try self.guarded.read(into: &output)
        } catch {
            throw self.inArchive(BlobError(wrapping: error))
        }
        let isTooLong = output.bytes.withUnsafeBytes {
            !self.sum.append(UnsafeRawBufferPointer(rebasing: $0[start...]))
        }
        if isTooLong { throw self.sum.isTooLong }
        if result == .end {
            try self.sum.checkEnd(hasAllBytes: self.isWhole)
            self.sum.reportEnd(hasAllBytes: self.isWhole, self.context)
        }
        return result
    }

    /// Returns the error with its offset in the archive, under the codes of a member.
    private func inArchive(_ error: BlobError) -> BlobError {
        var error = error
        error.byteOffset = error.byteOffset.map { $0 + self.data.lowerBound }
        error.locator = nil
        switch error.code {
        case .trailingData: return ZipReader.endsEarly(at: error.byteOffset ?? self.data.upperBound)
        case .truncated where error.byteOffset == self.data.upperBound:
            return ZipReader.endsLate(at: self.data.upperBound)
        default: return error
        }
    }
}
