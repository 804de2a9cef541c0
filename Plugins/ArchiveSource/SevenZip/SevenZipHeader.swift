import BlobCore
import BlobDeflate

/// A check of the memory that a 7z takes, from its header, before libarchive reads it, which has no limit.
///
/// Parses the header (7zFormat.txt) as libarchive does, up to the number of members. A malformed header is left to
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
    private enum Coder: UInt64 {
        case lzma2 = 0x21
        case lzma = 0x03_01_01
        case bcj2 = 0x03_03_01_1B
        case ppmd = 0x03_04_01
    }

    /// The approximate number of bytes that libarchive allocates for a folder, a member and so on, even when the header
    /// is too short for them.
    private enum Cost {
        static let folder: UInt64 = 350
        static let member: UInt64 = 100
        static let packedStream: UInt64 = 16
        static let subStream: UInt64 = 13
    }

    private struct Folder {
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
    private static let startByteCount: Int64 = 32
    private static let maximumStreamCount: UInt64 = 32

    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private var bytes: Bytes
    private var neededByteCount: UInt64 = 0
    private var hasSubStreams = false

    /// Checks the memory that the archive takes against the limit.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded``; ``BlobError/Code/unsupported`` when the header has parts that no
    ///   writer writes; ``BlobError/Code/corrupted`` when the signature is missing; any error of reading the base.
    static func check(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        let start = try base.beginning(Int(self.startByteCount), context)
        // Otherwise libarchive would search for an archive behind a program by itself.
        guard start.starts(with: ArchiveFormat.sevenzip.signatures[0].bytes) else {
            throw BlobError(.corrupted, "This is no 7z archive: it begins with other bytes.", byteOffset: 0)
        }
        let (offset, count) = start.withUnsafeBytes { ($0.number64(at: 12), $0.number64(at: 20)) }
        // Nothing follows the signature header of an archive without members.
        guard start.count == self.startByteCount, count > 0,
            let offset = Int64(exactly: offset), offset <= .max - self.startByteCount
        else { return }
        do {
            // The declared length is not used, because libarchive reads as much as there is.
            let place = offset + self.startByteCount
            var header = SevenZipHeader(
                base: base, context: context, bytes: try Bytes(base.slice(place...), context))
            try header.read(at: place)
        } catch is Malformed {
            return
        } catch {
            let error = BlobError(wrapping: error)
            guard error.code == .unsupported || !error.isAboutFormat && error.code != .invalidArgument else { return }
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

    private mutating func need(_ count: UInt64, _ byteCount: UInt64) throws {
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

    private static var isOdd: BlobError {
        BlobError(.unsupported, "The header of the 7z archive has parts that are not read.")
    }

    private mutating func read(at byteOffset: Int64) throws {
        var id = try self.bytes.id()
        if id == .encodedHeader {
            self.bytes.records = true
            let byteCount = try self.readStreams()
            guard !self.hasSubStreams else { throw Self.isOdd }
            try self.need(byteCount ?? 0, 1)
            // Without a division of the streams, libarchive finds no members.
            let division = [ID.subStreams.rawValue, ID.end.rawValue, ID.end.rawValue]
            self.bytes = try self.decoded(self.bytes.recorded.dropLast() + division, before: byteOffset)
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
        if id == .files { try self.need(self.bytes.number(), Cost.member) }
    }

    /// Returns a compressed header after decoding: libarchive reads it as the only member of an archive made for it.
    private func decoded(_ streams: [UInt8], before byteOffset: Int64) throws -> Bytes {
        // The name has one character; the last two zeros end the files and the header.
        let name: [UInt8] = [ID.names.rawValue, 5, 0, UInt8(ascii: "h"), 0, 0, 0]
        let header = [ID.header.rawValue, ID.mainStreams.rawValue] + streams + [ID.files.rawValue, 1] + name + [0, 0]
        var checksum = CRC32()
        header.withUnsafeBytes { checksum.update($0) }
        let offset = UInt64(byteOffset - Self.startByteCount)
        let start: [UInt8] =
            [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4, 0, 0, 0, 0]
            + [offset, UInt64(header.count)].flatMap { withUnsafeBytes(of: $0.littleEndian) { Array($0) } }
            + withUnsafeBytes(of: checksum.value.littleEndian) { Array($0) }
        let archive = ConcatenatedSource([
            MemorySource(start), self.base.slice(Self.startByteCount..<byteOffset), MemorySource(header),
        ])
        let walker = try ArchiveWalker(.sevenzip, over: archive, self.context)
        guard try walker.advance() else { throw Malformed() }
        return Bytes { Array(try walker.nextBlock().bytes) }
    }

    /// Reads how the streams are packed, unpacked and divided.
    ///
    /// - Returns: The unpacked size of the first folder in bytes; nil when there is none.
    private mutating func readStreams() throws -> UInt64? {
        var id = try self.bytes.id()
        var packedByteCounts: [UInt64] = []
        if id == .packInfo {
            packedByteCounts = try self.readPackedByteCounts()
            id = try self.bytes.id()
        }
        var folders: [Folder] = []
        var firstByteCount: UInt64?
        if id == .unpackInfo {
            folders = try self.readFolders()
            firstByteCount = try self.readUnpackedByteCounts(&folders, packedByteCounts)
            id = try self.bytes.id()
        }
        self.hasSubStreams = id == .subStreams
        if id == .subStreams { id = try self.readSubStreams(folders) }
        guard id == .end else { throw Malformed() }
        return firstByteCount
    }

    private mutating func readPackedByteCounts() throws -> [UInt64] {
        _ = try self.bytes.number()
        let count = try self.bytes.number()
        try self.need(count, Cost.packedStream)
        var byteCounts: [UInt64] = []
        var id = try self.bytes.id()
        if id == .size {
            for _ in 0..<count { byteCounts.append(try self.bytes.number()) }
            id = try self.bytes.id()
            if id == .checksums {
                _ = try self.readChecksums(count)
                id = try self.bytes.id()
            }
        }
        guard id == .end else { throw Malformed() }
        return byteCounts
    }

    private mutating func readFolders() throws -> [Folder] {
        guard try self.bytes.id() == .folders else { throw Malformed() }
        let count = try self.bytes.number()
        try self.need(count, Cost.folder)
        guard try self.bytes.byte() == 0 else { throw Self.isOdd }
        var folders: [Folder] = []
        for _ in 0..<count { folders.append(try self.readFolder()) }
        return folders
    }

    private mutating func readFolder() throws -> Folder {
        var folder = Folder()
        var (inCount, outCount): (UInt64, UInt64) = (0, 0)
        let coderCount = try self.bytes.number()
        guard coderCount <= 4 else { throw Malformed() }
        for _ in 0..<coderCount {
            let flags = try self.bytes.byte()
            var method: UInt64 = 0
            for _ in 0..<(flags & 0x0F) { method = method << 8 | UInt64(try self.bytes.byte()) }
            let isSimple = flags & 0x10 == 0
            inCount += isSimple ? 1 : try self.streamCount()
            outCount += isSimple ? 1 : try self.streamCount()
            var properties: [UInt8] = []
            let propertyCount = flags & 0x20 == 0 ? 0 : try self.bytes.number()
            for _ in 0..<propertyCount {
                let byte = try self.bytes.byte()
                if properties.count < 5 { properties.append(byte) }
            }
            let coder = Coder(rawValue: method)
            folder.hasBCJ2 = folder.hasBCJ2 || coder == .bcj2
            try self.check(coder, properties)
        }
        guard max(inCount, outCount) <= Self.maximumStreamCount else { throw Self.isOdd }
        guard outCount > 0, inCount + 1 >= outCount else { throw Malformed() }
        for pair in 1..<outCount {
            let place = try self.bytes.number()
            _ = try self.bytes.number()
            if pair == 1 { folder.hasSideStreams = place == 5 }
        }
        let packedCount = inCount + 1 - outCount
        if packedCount != 1 { for _ in 0..<packedCount { _ = try self.bytes.number() } }
        (folder.streamCount, folder.packedCount) = (UInt8(outCount), UInt8(packedCount))
        return folder
    }

    private mutating func streamCount() throws -> UInt64 {
        let count = try self.bytes.number()
        guard count <= Self.maximumStreamCount else { throw Self.isOdd }
        return count
    }

    private func check(_ coder: Coder?, _ properties: [UInt8]) throws {
        let byteCount: UInt64? =
            switch coder {
            case .lzma2: properties.first.map { CompressionFormat.lzma2Window($0) }
            // A byte of other parameters, then the size of the window or the model.
            case .lzma, .ppmd: properties.count < 5 ? nil : CompressionFormat.number(properties[1..<5])
            case .bcj2, nil: nil
            }
        try CompressionFormat.check(memoryByteCount: byteCount ?? 0, for: "A coder of the 7z archive")
    }

    /// Reads the unpacked size of each stream, and the checksums of the folders.
    ///
    /// - Returns: The unpacked size of the first folder in bytes; nil when there is none.
    private mutating func readUnpackedByteCounts(
        _ folders: inout [Folder], _ packedByteCounts: [UInt64]
    ) throws -> UInt64? {
        guard try self.bytes.id() == .coderSizes else { throw Malformed() }
        var firstByteCount: UInt64?
        var packedStart = 0
        for (index, folder) in folders.enumerated() {
            var byteCounts: [UInt64] = []
            for _ in 0..<folder.streamCount { byteCounts.append(try self.bytes.number()) }
            if index == 0 { firstByteCount = byteCounts.max() }
            let packed = packedByteCounts.dropFirst(packedStart).prefix(Int(folder.packedCount))
            packedStart += Int(folder.packedCount)
            guard folder.hasBCJ2 else { continue }
            // libarchive holds all streams but the main one in memory.
            let side = Array(packed.dropFirst()) + (folder.hasSideStreams ? Array(byteCounts.prefix(2)) : [])
            let sum = side.reduce(UInt64(0)) { max($0, $0 &+ min($1, 1 << 62)) }
            try CompressionFormat.check(memoryByteCount: sum, for: "A coder of the 7z archive")
        }
        var id = try self.bytes.id()
        if id == .checksums {
            let are = try self.readChecksums(UInt64(folders.count))
            for index in folders.indices { folders[index].hasChecksum = are[index] }
            id = try self.bytes.id()
        }
        guard id == .end else { throw Malformed() }
        return firstByteCount
    }

    /// Reads how the folders are divided; returns the identifier that follows.
    private mutating func readSubStreams(_ folders: [Folder]) throws -> ID {
        var id = try self.bytes.id()
        var counts = [UInt64](repeating: 1, count: folders.count)
        if id == .streamCounts {
            for index in folders.indices {
                counts[index] = try self.bytes.number()
                try self.need(counts[index], Cost.subStream)
            }
            id = try self.bytes.id()
        }
        if id == .size {
            for count in counts where count > 1 { for _ in 1..<count { _ = try self.bytes.number() } }
            id = try self.bytes.id()
        }
        if id == .checksums {
            let count = zip(folders, counts).reduce(UInt64(0)) { sum, folder in
                sum + (folder.0.hasChecksum && folder.1 == 1 ? 0 : folder.1)
            }
            _ = try self.readChecksums(count)
            id = try self.bytes.id()
        }
        guard id == .end else { throw Malformed() }
        return try self.bytes.id()
    }

    /// Skips checksums; returns which of them exist.
    private mutating func readChecksums(_ count: UInt64) throws -> [Bool] {
        var are = [Bool](repeating: true, count: Int(count))
        if try self.bytes.byte() == 0 {
            var bits: UInt8 = 0
            for index in are.indices {
                if index & 7 == 0 { bits = try self.bytes.byte() }
                are[index] = bits & 0x80 != 0
                bits <<= 1
            }
        }
        for isThere in are where isThere { for _ in 0..<4 { _ = try self.bytes.byte() } }
        return are
    }
}
