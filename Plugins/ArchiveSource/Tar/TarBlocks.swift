import BlobCore
import BlobPlatform

/// A cursor over the headers of a tar and the bytes after each header, which are padded to whole blocks.
final class TarBlocks {
    let scanner: ArchiveScanner

    /// The offset of the next header.
    var nextOffset: Int64 = 0
    /// The range in the archive of the unread bytes after the header.
    private(set) var data: Range<Int64> = 0..<0

    init(over base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        self.scanner = try ArchiveScanner(base, context)
    }

    var truncationError: BlobError {
        BlobError(
            .truncated, "The tar archive ends too early.", byteOffset: min(self.scanner.readerOffset, self.nextOffset))
    }

    /// Returns the header at ``nextOffset``, valid until the next call; nil at the end of the archive.
    func nextHeader() throws(BlobError) -> TarHeader? {
        let block = try self.scanner.bytes(at: self.nextOffset, count: TarHeader.byteCount)
        guard block.count == TarHeader.byteCount else {
            // An archive may end without the final zeros, but not within a header or a member.
            guard block.isEmpty, self.scanner.readerOffset == self.nextOffset else { throw self.truncationError }
            guard self.nextOffset > 0 else {
                throw BlobError(
                    .truncated,
                    "Not a tar archive: the data is empty, but even an empty archive contains blocks of zeros."
                )
            }
            return nil
        }
        let header = TarHeader(block)
        if block[0] == 0, header.isZero { return nil }
        guard header.isChecksumRight else {
            throw BlobError(
                .corrupted, "Not a tar header: its checksum is wrong.", byteOffset: self.nextOffset)
        }
        return header
    }

    /// The size of a record, to which most writers pad: 20 blocks (POSIX.1, pax, "-b blocksize").
    private static let recordByteCount: Int64 = 10_240

    /// Checks that no other tar follows the end of the archive at ``nextOffset``.
    ///
    /// Other data, as left by tapes and writers, may follow. So may old headers within the last record, because some
    /// writers do not clear the rest of it.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` if another tar follows; errors from the base.
    func checkEnd(_ context: BlobContext) throws(BlobError) {
        guard let start = try self.scanner.firstNonzero(from: self.nextOffset, context),
            start.isMultiple(of: Int64(TarHeader.byteCount))
        else { return }
        let recordEnd = (self.nextOffset / Self.recordByteCount + 1) * Self.recordByteCount
        let count = max(Int64(TarHeader.byteCount), recordEnd - start + 1)
        let rest = try self.scanner.bytes(at: start, count: Int(count))
        guard rest.count >= TarHeader.byteCount, start + Int64(rest.count) != recordEnd,
            TarHeader(UnsafeRawBufferPointer(rebasing: rest[..<TarHeader.byteCount])).isChecksumRight
        else { return }
        throw BlobError(trailingDataAfter: .tar, at: start)
    }

    /// Returns the block at an offset from the next header; nil if the archive ends before the end of the block.
    func block(at offset: Int64) throws(BlobError) -> TarHeader? {
        let block = try self.scanner.bytes(at: self.nextOffset + offset, count: TarHeader.byteCount)
        return block.count == TarHeader.byteCount ? TarHeader(block) : nil
    }

    /// Sets ``data`` to the range of the bytes after the header at ``nextOffset``.
    func begin(
        _ byteCount: Int64, headerByteCount: Int64 = Int64(TarHeader.byteCount)
    ) throws(BlobError) {
        let start = self.nextOffset + headerByteCount
        let (sum, overflows) = start.addingReportingOverflow(byteCount)
        guard byteCount >= 0, !overflows, sum <= Int64.max - 511 else {
            throw BlobError(
                .corrupted, "The member's length of \(byteCount) bytes is out of range.",
                byteOffset: self.nextOffset)
        }
        self.data = start..<sum
    }

    /// Moves to the header after ``data``, without changing ``data``.
    func advance() { self.nextOffset = Self.endOfBlocks(self.data.upperBound) }

    /// Returns at least one byte of ``data``, and moves past the returned bytes.
    ///
    /// - Throws: ``BlobError/Code/truncated`` if the base ends; errors from the base.
    func read(atMost count: Int64 = .max) throws(BlobError) -> UnsafeRawBufferPointer {
        let bytes = try self.scanner.availableBytes(
            at: self.data.lowerBound, atMost: min(count, Int64(self.data.count)))
        guard !bytes.isEmpty else { throw self.truncationError }
        self.data = (self.data.lowerBound + Int64(bytes.count))..<self.data.upperBound
        return bytes
    }

    /// The minimum number of bytes for which a separate read costs less than a copy from the buffer: 64 KiB.
    private static let directByteCount = 64 * 1024

    /// Appends bytes of ``data`` straight from the base, and moves past them.
    ///
    /// - Returns: The number of bytes; 0 if ``read(atMost:)`` must be used: at the end of the base, for bytes in the
    ///   buffer, and for few bytes, for which it costs less.
    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int {
        guard self.data.count >= Self.directByteCount, output.freeCapacity >= Self.directByteCount else { return 0 }
        let count = try self.scanner.read(at: self.data.lowerBound, atMost: Int64(self.data.count), into: &output)
        self.data = (self.data.lowerBound + Int64(count))..<self.data.upperBound
        return count
    }

    /// Moves to the first block boundary at least `byteCount` bytes after `start`, or to the end of ``data``.
    func skipBlocks(_ byteCount: Int64, from start: Int64) {
        self.data = min(start + Self.endOfBlocks(byteCount), self.data.upperBound)..<self.data.upperBound
    }

    /// Returns the bytes of an extension, and moves to the next header.
    func body(of header: TarHeader) throws(BlobError) -> [UInt8] {
        let byteCount = header.size
        guard byteCount <= TarExtensions.maximumByteCount else {
            throw BlobError(
                .limitExceeded,
                "An extension header has \(byteCount) bytes, more than the limit of \(TarExtensions.maximumByteCount).",
                byteOffset: self.nextOffset)
        }
        try self.begin(byteCount)
        var body: [UInt8] = []
        while !self.data.isEmpty { body.append(contentsOf: try self.read()) }
        self.advance()
        return body
    }

    private static func endOfBlocks(_ byteOffset: Int64) -> Int64 { (byteOffset + 511) & ~511 }
}
