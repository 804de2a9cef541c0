internal import BlobCore
import BlobDeflate

/// The head, the section table and the foot of an index file, with their encoding and decoding.
///
///     head      magic (8), version (4), CRC-32 of these 12 bytes (4)
///     payloads  one after the other
///     table     origin, count of sections, sections
///     foot      byte count of the file (8), of the table (4), CRC-32 of the table (4), CRC-32 of these 16 bytes (4)
///
/// The article IndexFiles in the documentation describes every byte.
struct IndexTable {
    /// The first bytes of the file.
    ///
    /// The first byte is not ASCII, so that the file is not mistaken for text; the line ends reveal a transfer in text
    /// mode.
    static let magic: [UInt8] = [0x89] + Array("BIX\r\n".utf8) + [0x1A, 0x0A]

    /// The version of the format; increased with every change that an older reader would misread.
    static let version: UInt32 = 3

    static let headByteCount = 16
    static let footByteCount = 20

    /// The maximum length of a table that is read, in bytes: enough for the maximum number of sections with long
    /// validators.
    static let maximumByteCount = 8 << 20

    /// The maximum number of sections in a file; if there are more, only the newest are written.
    static let maximumSectionCount = 256

    /// The length of the first read, at the end of the file, in bytes.
    private static let usualTailByteCount: Int64 = 1024

    /// The text of the origin's locator; empty if the origin has none.
    var origin: String
    var entries: [IndexSection.Entry] = []

    /// Creates a table without sections.
    init(origin: String) { self.origin = origin }

    static let head: [UInt8] = {
        var writer = IndexWriter()
        writer.append(Self.magic)
        writer.append(fixed: Self.version)
        writer.append(fixed: CRC32(of: writer.bytes).value)
        return writer.bytes
    }()

    /// Returns the table and the foot, for a file whose payloads end at `byteOffset`.
    func tail(at byteOffset: Int64) -> [UInt8] {
        var writer = IndexWriter()
        writer.append(counted: self.origin.utf8)
        writer.append(varint: UInt64(self.entries.count))
        for entry in self.entries {
            writer.append(counted: entry.key.layer.utf8)
            writer.append(fixed: entry.key.kind.rawValue)
            writer.append(fixed: entry.flags.rawValue)
            writer.append(fixed: entry.content.byteCount)
            writer.append(counted: entry.content.validator.utf8)
            // `Int64.min` stands for nil: no file has that time.
            writer.append(fixed: entry.content.statusChangeTime ?? .min)
            writer.append(fixed: entry.content.edgeChecksum)
            writer.append(fixed: entry.byteOffset)
            writer.append(fixed: entry.byteCount)
            writer.append(fixed: entry.checksum)
        }
        let table = writer.bytes
        var foot = IndexWriter()
        foot.append(fixed: byteOffset + Int64(table.count + Self.footByteCount))
        foot.append(fixed: UInt32(table.count))
        foot.append(fixed: CRC32(of: table).value)
        foot.append(fixed: CRC32(of: foot.bytes).value)
        return table + foot.bytes
    }

    /// Reads the table of an index file.
    ///
    /// - Throws: ``BlobError/Code/corrupted`` for a damaged or unsupported file; errors of reading the file.
    init(of file: IndexDescriptor) throws(BlobError) {
        // Most tables are short enough for this one read.
        let guess = Int(min(file.byteCount, Self.usualTailByteCount))
        var tail = try file.read(at: file.byteCount - Int64(guess), count: guess)
        guard guess >= Self.footByteCount else { throw IndexReader(tail).failure("is too short to contain its footer") }
        var foot = try IndexReader(tail, (guess - Self.footByteCount)..<guess)
        let (statedByteCount, count) = (try foot.readFixed(Int64.self), Int(try foot.readFixed(UInt32.self)))
        let checksum = try foot.readFixed(UInt32.self)
        guard try foot.readFixed(UInt32.self) == CRC32(of: tail.suffix(Self.footByteCount).dropLast(4)).value,
            statedByteCount == file.byteCount, count <= Self.maximumByteCount,
            Int64(count + Self.headByteCount + Self.footByteCount) <= file.byteCount
        else { throw foot.failure("has a damaged footer") }
        let byteOffset = file.byteCount - Int64(count + Self.footByteCount)
        if count + Self.footByteCount > guess {
            tail = try file.read(at: byteOffset, count: count + Self.footByteCount)
        }
        let table = Array(tail.suffix(count + Self.footByteCount).prefix(count))
        guard CRC32(of: table).value == checksum else { throw foot.failure("has a damaged table") }
        var reader = IndexReader(table)
        self.origin = try reader.text()
        for _ in 0..<(try reader.count(atMost: Self.maximumSectionCount)) {
            let entry = IndexSection.Entry(
                key: IndexSection.Key(
                    layer: try reader.text(), kind: IndexSection.Kind(rawValue: try reader.readFixed())),
                flags: IndexSection.Flags(rawValue: try reader.readFixed()),
                content: IndexedContent(
                    byteCount: try reader.readFixed(), validator: try reader.text(),
                    statusChangeTime: try reader.time(), edgeChecksum: try reader.readFixed()),
                byteOffset: try reader.readFixed(), byteCount: try reader.readFixed(), checksum: try reader.readFixed())
            let (sectionEnd, isPastEnd) = entry.byteOffset.addingReportingOverflow(entry.byteCount)
            guard entry.byteOffset >= Self.headByteCount, entry.byteCount >= 0, !isPastEnd, sectionEnd <= byteOffset
            else { throw reader.failure("has a section with an invalid position or length") }
            self.entries.append(entry)
        }
        guard reader.isAtEnd else { throw reader.failure("has unexpected data after its sections") }
    }
}

extension IndexReader {
    fileprivate mutating func time() throws(BlobError) -> Int64? {
        let time = try self.readFixed(Int64.self)
        return time == .min ? nil : time
    }

    fileprivate mutating func text() throws(BlobError) -> String {
        String(decoding: try self.readCountedBytes(atMost: IndexSection.maximumTextByteCount), as: UTF8.self)
    }
}
