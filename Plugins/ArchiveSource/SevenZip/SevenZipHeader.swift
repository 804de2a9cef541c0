import BlobCore
import BlobDeflate

/// The header of a 7z, read for two facts: the memory that libarchive, which has no limit, would take for the archive,
/// and the division of the archive into folders.
///
/// Parses the header (7zFormat.txt) as libarchive does, up to the members without bytes. A malformed header is left to
/// libarchive, which reads no further either.
struct SevenZipHeader {
    /// The identifiers of the parts of a header.
    enum ID: UInt8 {
        case end = 0x00
        case header, archiveProperties, additionalStreams, mainStreams, files, packInfo, unpackInfo, subStreams, size
        case checksums, folders, coderSizes, streamCounts
        case names = 0x11
        case encodedHeader = 0x17
    }

    /// The coders that take memory of their own.
    enum Coder: UInt64 {
        case lzma2 = 0x21
        case lzma = 0x03_01_01
        case bcj2 = 0x03_03_01_1B
        case ppmd = 0x03_04_01
    }

    /// The approximate number of bytes that libarchive allocates for a folder, a member and so on, even when the header
    /// is too short for them.
    enum Cost {
        static let folder: UInt64 = 350
        static let member: UInt64 = 100
        static let packedStream: UInt64 = 16
        static let subStream: UInt64 = 13
    }

    struct Folder {
        /// The number of streams that the coders produce; 7-Zip allows 32.
        var streamCount: UInt8 = 0
        var packedCount: UInt8 = 0
        var hasBCJ2 = false
        /// For BCJ2, true when the first two streams are the ones besides the main stream.
        var hasSideStreams = false
        var hasChecksum = false
    }

    struct Malformed: Error {}

    /// The length of the signature header, from whose end the offset of the members' header counts.
    static let startByteCount: Int64 = 32
    static let maximumStreamCount: UInt64 = 32

    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    var bytes: Bytes
    private var neededByteCount: UInt64 = 0
    var hasSubStreams = false
    /// The division into folders, as far as it was read.
    var layout = SevenZipLayout()

    /// Checks the memory that the archive takes against the limit.
    ///
    /// - Returns: The division of the archive into folders; nil when the header is malformed, or has parts from which
    ///   no archive of a single folder can be made.
    /// - Throws: ``BlobError/Code/limitExceeded``; ``BlobError/Code/unsupported`` when the header has parts that no
    ///   writer writes; ``BlobError/Code/corrupted`` when the signature is missing; any error of reading the base.
    @discardableResult
    static func check(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> SevenZipLayout? {
        let start = try base.beginning(Int(self.startByteCount), context)
        // Otherwise libarchive would search for an archive behind a program by itself.
        guard start.starts(with: ArchiveFormat.sevenzip.signatures[0].bytes) else {
            throw BlobError(.corrupted, "This is no 7z archive: it begins with other bytes.", byteOffset: 0)
        }
        let (offset, count) = start.withUnsafeBytes { ($0.number64(at: 12), $0.number64(at: 20)) }
        // Nothing follows the signature header of an archive without members.
        guard start.count == self.startByteCount, count > 0,
            let offset = Int64(exactly: offset), offset <= .max - self.startByteCount
        else { return nil }
        do {
            // The declared length is not used, because libarchive reads as much as there is.
            let place = offset + self.startByteCount
            var header = SevenZipHeader(
                base: base, context: context, bytes: try Bytes(base.slice(place...), context))
            return try header.read(at: place)
        } catch is Malformed {
            return nil
        } catch {
            let error = BlobError(wrapping: error)
            guard error.code == .unsupported || !error.isAboutFormat && error.code != .invalidArgument else {
                return nil
            }
            throw error
        }
    }

    /// Returns true when 32 bytes begin a 7z: the four bytes after the first eight are the checksum of the last 20.
    static func isStart(_ bytes: [UInt8]) -> Bool {
        bytes.withUnsafeBytes { bytes in
            var checksum = CRC32()
            checksum.update(UnsafeRawBufferPointer(rebasing: bytes[12..<32]))
            return checksum.value == bytes.number32(at: 8)
        }
    }

    mutating func need(_ count: UInt64, _ byteCount: UInt64) throws {
        let (product, overflows) = count.multipliedReportingOverflow(by: byteCount)
        let (sum, overflowsToo) = self.neededByteCount.addingReportingOverflow(product)
        self.neededByteCount = overflows || overflowsToo ? .max : sum
        let limit = CompressionFormat.maximumWindowByteCount
        guard self.neededByteCount <= limit else {
            throw BlobError(
                .limitExceeded,
                "The header of the 7z archive needs \(self.neededByteCount) bytes of memory, the limit is \(limit).")
        }
    }

    static var isOdd: BlobError {
        BlobError(.unsupported, "The header of the 7z archive has parts that are not read.")
    }

    private mutating func read(at byteOffset: Int64) throws -> SevenZipLayout? {
        var id = try self.bytes.id()
        if id == .encodedHeader {
            self.bytes.records = true
            let byteCount = try self.readStreams()
            guard !self.hasSubStreams else { throw Self.isOdd }
            try self.need(byteCount ?? 0, 1)
            // Without a division of the streams, libarchive finds no members.
            let division = [ID.subStreams.rawValue, ID.end.rawValue, ID.end.rawValue]
            self.bytes = try self.decoded(self.bytes.recorded.dropLast() + division, before: byteOffset)
            self.layout = SevenZipLayout()
            id = try self.bytes.id()
        }
        guard id == .header else { throw Malformed() }
        id = try self.bytes.id()
        if id == .mainStreams {
            _ = try self.readStreams()
            id = try self.bytes.id()
        }
        // libarchive parses properties in its own way, and no writer writes them.
        guard id == .files || id == .end else { throw Self.isOdd }
        guard id == .files else { return nil }
        let count = try self.bytes.number()
        try self.need(count, Cost.member)
        guard self.hasSubStreams, self.layout.isWhole else { return nil }
        try self.readMembers(Int(count))
        return self.layout
    }

    /// Returns a compressed header after decoding: libarchive reads it as the only member of an archive made for it.
    private func decoded(_ streams: [UInt8], before byteOffset: Int64) throws -> Bytes {
        // The name has one character; the last two zeros end the files and the header.
        let name: [UInt8] = [ID.names.rawValue, 5, 0, UInt8(ascii: "h"), 0, 0, 0]
        let header = [ID.header.rawValue, ID.mainStreams.rawValue] + streams + [ID.files.rawValue, 1] + name + [0, 0]
        let packed = self.base.slice(Self.startByteCount..<byteOffset)
        let archive = Self.archive(packed, byteOffset - Self.startByteCount, header)
        let walker = try SevenZipWalker.decoder(
            over: archive, isRare: self.layout.hasRareCoders, self.context)
        guard try walker.advance() else { throw Malformed() }
        return Bytes { Array(try walker.nextBlock().bytes) }
    }

    /// Returns an archive of packed streams and a header made for them.
    static func archive(
        _ packed: some BlobInputStreamDataSource, _ packedByteCount: Int64, _ header: [UInt8]
    ) -> some BlobInputStreamDataSource {
        var checksum = CRC32()
        header.withUnsafeBytes { checksum.update($0) }
        let start: [UInt8] =
            [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4, 0, 0, 0, 0]
            + [UInt64(packedByteCount), UInt64(header.count)].flatMap {
                withUnsafeBytes(of: $0.littleEndian) { Array($0) }
            }
            + withUnsafeBytes(of: checksum.value.littleEndian) { Array($0) }
        return ConcatenatedSource([MemorySource(start), packed, MemorySource(header)])
    }
}
