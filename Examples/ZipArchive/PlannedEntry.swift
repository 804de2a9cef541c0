import BlobCore
import BlobPlatform

/// An entry whose form in the zip is fixed. Numbers, fields and marks: APPNOTE.TXT 6.3.10, sections 4.3 to 4.5.
struct PlannedEntry: Sendable {
    enum Kind: Sendable {
        case file, folder, link
    }

    /// The value of a 32-bit field whose number is in the zip64 field instead.
    static let mark: Int64 = 0xFFFF_FFFF

    let entry: ZipEntry
    let kind: Kind
    let source: any BlobInputStreamDataSource
    /// The length of the source; nil if unknown.
    let byteCount: Int64?
    let validator: BlobValidator?
    let isRandomAccess: Bool
    /// The CRC-32 that the header states; nil if it follows the data instead.
    ///
    /// Readers of a stream find the end of such an entry only if the data itself has one, so it is method 8, in blocks
    /// of deflate that are stored, not compressed: Java's `ZipInputStream` accepts nothing else.
    let checksum: UInt32?

    /// The number of bytes in the zip that the content of a source becomes.
    func storedByteCount(_ byteCount: Int64) -> Int64 {
        self.checksum == nil ? StoredBlocks.byteCount(of: byteCount) : byteCount
    }

    /// Returns the bytes of the source in a range of the stored bytes, which may exceed them.
    func sourceRange(of range: Range<Int64>) -> Range<Int64> {
        guard let byteCount else { return 0..<0 }
        let stored = range.clamped(to: 0..<self.storedByteCount(byteCount))
        guard self.checksum == nil, !stored.isEmpty else { return stored }
        let end = StoredBlocks.start(of: stored.upperBound).bytes + StoredBlocks.blockByteCount
        return StoredBlocks.start(of: stored.lowerBound).bytes..<min(end, byteCount)
    }

    // MARK: Records

    /// The local header.
    var header: [UInt8] {
        var record = ZipRecord()
        record.append(0x0403_4B50)
        let byteCount = self.checksum == nil ? 0 : self.byteCount ?? 0
        let isLarge = byteCount >= Self.mark
        self.appendFields(
            to: &record, isLarge: isLarge, checksum: self.checksum ?? 0, stored: byteCount, byteCount: byteCount)
        record.append16((isLarge ? 20 : 0) + self.timeFieldByteCount)
        record.bytes += self.entry.name
        if isLarge {
            record.append16(1)
            record.append16(16)
            record.append64(byteCount)
            record.append64(byteCount)
        }
        self.appendTimeField(to: &record)
        return record.bytes
    }

    /// The length of the record that follows the data.
    ///
    /// Its numbers have 64 bits exactly if one of them needs them, as Java and Go write and expect it; the local header
    /// cannot say so, because the length may be unknown.
    func descriptorByteCount(_ byteCount: Int64) -> Int64 {
        guard self.checksum == nil else { return 0 }
        return self.storedByteCount(byteCount) > Self.mark ? 24 : 16
    }

    /// The record that follows the data.
    func descriptor(_ content: EntryContent) -> [UInt8] {
        var record = ZipRecord()
        record.append(0x0807_4B50)
        record.append(Int64(content.checksum))
        let isLarge = self.descriptorByteCount(content.byteCount) == 24
        for number in [self.storedByteCount(content.byteCount), content.byteCount] {
            if isLarge { record.append64(number) } else { record.append(number) }
        }
        return record.bytes
    }

    /// The length of the record in the central directory.
    func directoryByteCount(_ byteCount: Int64, at byteOffset: Int64) -> Int64 {
        let text = self.entry.name.count + self.entry.comment.utf8.count
        return Int64(46 + text + (self.isLarge(byteCount, byteOffset) ? 28 : 0) + self.timeFieldByteCount)
    }

    /// The record in the central directory.
    ///
    /// - Parameter byteOffset: The offset of the local header.
    func directoryRecord(_ content: EntryContent, at byteOffset: Int64) -> [UInt8] {
        let isLarge = self.isLarge(content.byteCount, byteOffset)
        let stored = self.storedByteCount(content.byteCount)
        var record = ZipRecord()
        record.append(0x0201_4B50)
        // Made by version 4.5, on Unix, which says that the upper half of the attributes is a mode.
        record.append16(3 << 8 | 45)
        self.appendFields(
            to: &record, isLarge: isLarge, checksum: content.checksum, stored: stored, byteCount: content.byteCount)
        record.append16((isLarge ? 28 : 0) + self.timeFieldByteCount)
        record.append16(self.entry.comment.utf8.count)
        record.append(0)  // The first disk, and no internal attributes.
        record.append(Int64(self.mode) << 16 | (self.kind == .folder ? 0x10 : 0))
        record.append(isLarge ? Self.mark : byteOffset)
        record.bytes += self.entry.name
        if isLarge {
            record.append16(1)
            record.append16(24)
            for number in [content.byteCount, stored, byteOffset] { record.append64(number) }
        }
        self.appendTimeField(to: &record)
        record.bytes += self.entry.comment.utf8
        return record.bytes
    }

    /// Returns true if one of the numbers in the central directory does not fit. All three are then in the zip64 field,
    /// because unzip 6.0 confuses them if only some are, and an earlier entry has exactly 4 GiB - 1.
    private func isLarge(_ byteCount: Int64, _ byteOffset: Int64) -> Bool {
        max(byteCount, self.storedByteCount(byteCount), byteOffset) >= Self.mark
    }

    /// Appends the fields that both headers have, from the version to the length of the name.
    private func appendFields(
        to record: inout ZipRecord, isLarge: Bool, checksum: UInt32, stored: Int64, byteCount: Int64
    ) {
        let isStreamed = self.checksum == nil
        record.append16(isLarge ? 45 : isStreamed || self.kind == .folder ? 20 : 10)
        record.append16((isStreamed ? 1 << 3 : 0) | (self.entry.isMarkedUTF8 ? 1 << 11 : 0))
        record.append16(isStreamed ? 8 : 0)
        record.append(self.oldTime)
        record.append(Int64(checksum))
        record.append(isLarge ? Self.mark : stored)
        record.append(isLarge ? Self.mark : byteCount)
        record.append16(self.entry.name.count)
    }

    private var mode: UInt32 {
        let (type, permissions): (UInt32, UInt16) =
            switch self.kind {
            case .file: (0o100000, 0o644)
            case .folder: (0o040000, 0o755)
            case .link: (0o120000, 0o777)
            }
        return type | UInt32(self.entry.permissions ?? permissions) & 0o7777
    }

    // MARK: Times

    private var seconds: Int64? {
        self.entry.modificationTime.flatMap { Int64(exactly: $0.timeIntervalSince1970.rounded(.down)) }
    }

    /// The time in the oldest form: two seconds, minutes, hours, and the date from 1980.
    private var oldTime: Int64 {
        let (first, last): (Int64, Int64) = (315_532_800, 4_354_819_198)  // 1980-01-01 and 2107-12-31T23:59:58.
        var time = time_t(min(max(self.seconds ?? first, first), last))
        var parts = tm()
        gmtime_r(&time, &parts)
        let date = (parts.tm_year - 80) << 9 | (parts.tm_mon + 1) << 5 | parts.tm_mday
        return Int64(date << 16 | parts.tm_hour << 11 | parts.tm_min << 5 | parts.tm_sec / 2)
    }

    /// The length of the field "extended timestamp" of Info-ZIP.
    private var timeFieldByteCount: Int { self.seconds.flatMap { Int32(exactly: $0) } == nil ? 0 : 9 }

    private func appendTimeField(to record: inout ZipRecord) {
        guard let seconds = self.seconds.flatMap({ Int32(exactly: $0) }) else { return }
        record.append16(0x5455)
        record.append16(5)
        record.bytes.append(1)  // Only the time of modification.
        record.append(Int64(seconds))
    }
}

/// The length and the CRC-32 of an entry's bytes.
struct EntryContent: Equatable, Sendable {
    let byteCount: Int64
    let checksum: UInt32
}

/// The bytes of a record, whose numbers are little-endian.
struct ZipRecord {
    var bytes: [UInt8] = []

    mutating func append16(_ number: Int) { self.append(Int64(number), byteCount: 2) }
    /// Appends the lower 32 bits of a number.
    mutating func append(_ number: Int64) { self.append(number, byteCount: 4) }
    mutating func append64(_ number: Int64) { self.append(number, byteCount: 8) }

    private mutating func append(_ number: Int64, byteCount: Int) {
        for index in 0..<byteCount { self.bytes.append(UInt8(truncatingIfNeeded: number >> (8 * index))) }
    }
}
