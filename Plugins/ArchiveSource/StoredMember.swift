import BlobCore

/// A member whose bytes lie in the archive as they are, one after the other, and where they lie.
///
/// Found once, and then read at any offset as a part of the archive, as long as the content of that is the same.
struct StoredMember: Sendable {
    let info: BlobInfo
    private let format: ArchiveFormat
    /// The range of the bytes in the base.
    let range: Range<Int64>
    /// Opens the member so that its bytes are compared with their checksum; nil when there is none, as in a tar.
    private let makeCheckingReader: FoundMember.MakeCheckingReader?
    private let validator: BlobValidator
    private let statusChangeTime: Int64?

    /// Returns nil when the content of the base cannot be recognised again, or ends within the member.
    init?(_ found: FoundMember, info: BlobInfo, _ format: ArchiveFormat) {
        let base = found.baseInfo
        guard let range = found.storedRange, let validator = base.validator, base.isRandomAccess,
            range.upperBound <= base.byteCount ?? 0, info.byteCount == Int64(range.count)
        else { return nil }
        self.info = info
        self.format = format
        self.range = range
        self.makeCheckingReader = found.makeCheckingReader
        self.validator = validator
        self.statusChangeTime = base.statusChangeTime
    }

    /// Returns true when a base with this info still has the content in which the member was found.
    func isIn(_ base: BlobInfo) -> Bool {
        base.validator == self.validator && base.statusChangeTime == self.statusChangeTime
    }

    /// Opens the member. Of a zip, only a read from the beginning is compared with the checksum.
    func makeReader(
        at byteOffset: Int64, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any BlobPluginReader {
        if let makeCheckingReader, byteOffset == 0 {
            let scanner = try ArchiveScanner(base, context)
            guard self.isIn(scanner.info) else {
                throw BlobError(.changed, "The archive changed while it was being opened.")
            }
            return try makeCheckingReader(self.info, scanner, context)
        }
        let reader = try base.open(at: self.range.lowerBound + byteOffset, matching: self.validator, context: context)
        return StoredMemberReader(reader, info: self.info, end: self.range.upperBound) {
            guard byteOffset == 0 else { return }
            context.reportEnd(of: self.format.rawValue, byteCount: Int64(self.range.count), check: nil)
        }
    }
}

/// A reader of a part of an archive.
private final class StoredMemberReader: BlobPluginReader {
    let info: BlobInfo
    private let guarded: BlobReader
    private let end: Int64
    private var reportEnd: (() -> Void)?

    /// - Parameter reportEnd: Called once at the end.
    init(_ guarded: BlobReader, info: BlobInfo, end: Int64, reportEnd: @escaping () -> Void) {
        self.guarded = guarded
        self.reportEnd = reportEnd
        self.info = info
        self.end = end
    }

    func whenReadable(_ waker: BlobWaker) { self.guarded.whenReadable(waker) }

    func close() { self.guarded.close() }

    func read(into output: inout OutputRawSpan) throws -> BlobReadResult {
        let room = Int(clamping: self.end - self.guarded.byteOffset)
        var result = BlobReadResult.end
        // Also without room, because a closed reader must throw.
        try output.append(atMost: room) { result = try self.guarded.read(into: &$0) }
        guard room > 0 else {
            self.reportEnd.take()?()
            return .end
        }
        guard result != .end else {
            throw BlobError(
                .truncated, "The archive ends within the member.", byteOffset: self.guarded.byteOffset)
        }
        return result
    }
}
