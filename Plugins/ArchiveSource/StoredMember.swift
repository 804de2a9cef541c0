import BlobCore

/// A member whose bytes lie in the archive as they are, one after the other, and where they lie.
///
/// Found once, and then read at any offset as a part of the archive, as long as the content of that is the same.
struct StoredMember: Sendable {
    let info: BlobInfo
    private let format: ArchiveFormat
    /// The range of the bytes in the base.
    let range: Range<Int64>
    /// Returns a body that verifies the checksum of the member; nil when the format has no checksum, as in a tar.
    private let makeCheckedBody: FoundMember.MakeCheckedBody?
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
        self.makeCheckedBody = found.makeCheckedBody
        self.validator = validator
        self.statusChangeTime = base.statusChangeTime
    }

    /// Returns true when a base with this info still has the content in which the member was found.
    func isIn(_ base: BlobInfo) -> Bool {
        base.validator == self.validator && base.statusChangeTime == self.statusChangeTime
    }

    /// Returns the bytes of the member from an offset on. Of a zip, only a read from the beginning is compared with the
    /// checksum.
    func makeBody(
        at byteOffset: Int64, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        if let makeCheckedBody, byteOffset == 0 {
            let scanner = try ArchiveScanner(base, context)
            guard self.isIn(scanner.info) else {
                throw BlobError(.changed, "The archive changed while it was being opened.")
            }
            return try makeCheckedBody(self.info, scanner, context)
        }
        let start = self.range.lowerBound + byteOffset
        let part = StoredPart(info: self.info, byteOffset: start, end: self.range.upperBound) {
            guard byteOffset == 0 else { return }
            context.reportEnd(of: self.format.rawValue, byteCount: Int64(self.range.count), check: nil)
        }
        let base = try base.open(at: start, matching: self.validator, context: context)
        return .inspected(base, part, startingAt: byteOffset)
    }
}

/// Ends the bytes of an archive at the end of a member.
private struct StoredPart: BlobInspector {
    let info: BlobInfo
    /// The offset in the archive of the next byte.
    var byteOffset: Int64
    let end: Int64
    let reportEnd: () -> Void

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func room() -> BlobRoom {
        guard self.byteOffset == self.end else { return .bytes(self.end - self.byteOffset) }
        self.reportEnd()
        return .end
    }

    mutating func pass(_ bytes: RawSpan, at byteOffset: Int64, isLast: Bool) throws -> Range<Int> {
        guard !isLast else {
            throw BlobError(.truncated, "The archive ends within the member.", byteOffset: byteOffset)
        }
        self.byteOffset += Int64(bytes.byteCount)
        return 0..<bytes.byteCount
    }
}
