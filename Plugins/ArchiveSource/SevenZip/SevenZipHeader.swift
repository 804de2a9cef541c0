import BlobCore
import BlobDeflate

/// The header of a 7z, read for three things: the memory that libarchive, which has no limit, would take for the
/// archive, the division of the archive into folders, and the members.
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
        var isEncrypted = false
        /// The index of the stream that no other coder reads.
        var mainStream = 0
        /// The first method that is not read; nil when all are.
        var unreadMethod: UInt64?
        /// True when a coder is a branch filter that liblzma decodes.
        var hasBranch = false
        /// The largest number of bytes that a coder takes.
        var memoryByteCount: UInt64 = 0
    }

    struct Malformed: Error {}

    /// The length of the signature header, from whose end the offset of the members' header counts.
    static let startByteCount: Int64 = 32
    static let maximumStreamCount: UInt64 = 32
    /// The largest number of bytes that a header takes in memory: 128 MiB.
    private static let maximumByteCount: UInt64 = 128 << 20

    private let base: any BlobInputStreamDataSource
    private let context: BlobContext
    private let keys: SevenZipKeys
    var bytes: Bytes
    private var neededByteCount: UInt64 = 0
    var hasSubStreams = false
    private var protection: SevenZipLayout.Protection?
    /// True when the folders were divided into streams.
    var isDivided = false
    /// The division into folders, as far as it was read.
    var layout = SevenZipLayout()

    /// Reads the header, and checks the memory that it takes against the limits; that of its members is checked when they
    /// are read, unless only libarchive can tell them.
    ///
    /// - Parameter keys: The keys of an encrypted header.
    /// - Returns: The division of the archive into folders; nil when the header is malformed, or has parts from which
    ///   no archive of a single folder can be made. The members are left out when only libarchive can tell them.
    /// - Throws: ``BlobError/Code/limitExceeded``; ``BlobError/Code/unsupported`` when the header has parts that no
    ///   writer writes; ``BlobError/Code/corrupted`` when the signature is missing; ``BlobError/Code/encrypted`` when
    ///   the header is encrypted and the password is missing or wrong; any error of reading the base.
    static func check(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext, _ keys: SevenZipKeys = SevenZipKeys()
    ) throws(BlobError) -> SevenZipLayout? {
        let start = try base.beginning(Int(self.startByteCount), context)
        // Otherwise libarchive would search for an archive behind a program by itself.
        guard start.starts(with: ArchiveFormat.sevenzip.signatures[0].bytes) else {
            throw BlobError(.corrupted, "This is no 7z archive: it begins with other bytes.", byteOffset: 0)
        }
        let (offset, count, checksum) = start.withUnsafeBytes {
            ($0.number64(at: 12), $0.number64(at: 20), $0.number32(at: 28))
        }
        // A writer that was interrupted leaves zeros there, of which the checksum is not zero.
        guard start.count < self.startByteCount || count > 0 || self.isStart(start) else {
            throw BlobError(
                .corrupted,
                "The beginning of the 7z archive names no header, and its checksum is wrong: it was not completed.",
                byteOffset: 8)
        }
        // Nothing follows the signature header of an archive without members.
        guard start.count == self.startByteCount, count > 0,
            let offset = Int64(exactly: offset), offset <= .max - self.startByteCount
        else { return nil }
        var layout = SevenZipLayout()
        do {
            // The declared length is not used, because libarchive reads as much as there is.
            let place = offset + self.startByteCount
            var header = SevenZipHeader(
                base: base, context: context, keys: keys, bytes: try Bytes(base.slice(place...), context))
            defer { layout = header.layout }
            if let layout = try header.readSound(at: place, Extent(byteCount: count, checksum: checksum)) {
                return layout
            }
        } catch is Malformed {
        } catch {
            let error = BlobError(wrapping: error)
            guard
                error.code == .unsupported || error.code == .encrypted
                    || !error.isAboutFormat && error.code != .invalidArgument
            else {
                try layout.checkMemory(context)
                return nil
            }
            throw error
        }
        // libarchive decodes any folder.
        try layout.checkMemory(context)
        return nil
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
        let limit = Self.maximumByteCount
        guard self.neededByteCount <= limit else {
            throw BlobError(
                .limitExceeded,
                "The header of the 7z archive needs \(self.neededByteCount) bytes of memory, the limit is \(limit).")
        }
    }

    static var isOdd: BlobError {
        BlobError(.unsupported, "The header of the 7z archive has parts that are not read.")
    }

    /// The length and the checksum that a header should have; nil when they are not known.
    private struct Extent {
        let byteCount: UInt64?
        let checksum: UInt32?
    }

    /// Reads the header. Of an encrypted one without a checksum, which py7zr writes, what makes no sense shows that the
    /// password is wrong.
    private mutating func readSound(at byteOffset: Int64, _ declared: Extent) throws -> SevenZipLayout? {
        do {
            let layout = try self.read(at: byteOffset, declared)
            if layout?.members != nil || !self.isDoubtful { return layout }
        } catch {
            let cause = BlobError(wrapping: error)
            let isAboutContent = error is Malformed || cause.isAboutFormat || cause.code == .limitExceeded
            guard self.isDoubtful, isAboutContent else { throw error }
        }
        throw BlobError.wrongPassword("The header of the 7z archive")
    }

    /// True when the header is encrypted, and no checksum has shown that the password is right.
    private var isDoubtful: Bool { self.protection.map { !self.keys.areProven([$0.secret]) } ?? false }

    private mutating func read(at byteOffset: Int64, _ declared: Extent) throws -> SevenZipLayout? {
        var extent = declared
        var isSound = true
        var id = try self.bytes.id()
        if id == .encodedHeader {
            let byteCount = try self.readStreams()
            guard !self.hasSubStreams else { throw Self.isOdd }
            try self.need(byteCount ?? 0, 1)
            isSound = self.matches(extent)
            (self.bytes, extent) = try self.decoded(before: byteOffset)
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
        guard self.hasSubStreams, self.isDivided else { return nil }
        let members = try self.readMembers(Int(count))
        if isSound, self.matches(extent) { self.layout.members = members }
        self.layout.protection = self.protection
        return self.layout
    }

    /// Returns true when the bytes that were read are those that were written.
    private mutating func matches(_ extent: Extent) -> Bool {
        self.bytes.byteCount <= extent.byteCount ?? .max
            && self.bytes.checksum() == extent.checksum ?? self.bytes.checksum()
    }

    /// Returns a compressed header after decoding: libarchive reads it as the only member of an archive made for it.
    private mutating func decoded(before byteOffset: Int64) throws -> (Bytes, Extent) {
        guard let folder = self.layout.folders.first, self.layout.makeWhole() else { throw Malformed() }
        try self.layout.checkReadable(folder: 0, self.context)
        var protection: SevenZipLayout.Protection?
        let archive = try self.layout.archive(ofFolder: 0, in: self.base, byteCount: byteOffset) {
            [keys = self.keys, base = self.base, context = self.context] encryption throws(BlobError) in
            let (key, secret) = try keys.key(encryption, of: base.locator, context)
            protection = (encryption, secret)
            return key
        }
        guard let archive else { throw Malformed() }
        let extent = Extent(byteCount: self.layout.streamByteCounts.first, checksum: folder.checksum)
        let isolation = self.layout.hasRareCoders ? self.base.archiveIsolation : nil
        let walker = try SevenZipWalker.decoder(over: archive, isolation, self.context)
        guard try walker.advance() else { throw Malformed() }
        guard let protection else { return (Bytes { Array(try walker.nextBlock().bytes) }, extent) }
        // With another password, nothing of it may be believed.
        let bytes = try Self.allBytes(walker)
        if extent.checksum != nil { self.keys.prove([protection.secret]) }
        self.protection = protection
        return (Bytes(bytes), extent)
    }

    /// Returns the bytes of a member that is encrypted.
    private static func allBytes(_ walker: any MemberWalker) throws(BlobError) -> [UInt8] {
        var bytes: [UInt8] = []
        do throws(BlobError) {
            while case let block = try walker.nextBlock().bytes, !block.isEmpty { bytes += block }
        } catch  where error.isAboutFormat {
            throw .wrongPassword("The header of the 7z archive", error)
        }
        return bytes
    }

    /// Returns an archive of packed streams and a header made for them.
    static func archive(
        _ packed: [any BlobInputStreamDataSource], _ packedByteCount: Int64, _ header: [UInt8]
    ) -> some BlobInputStreamDataSource {
        var checksum = CRC32()
        header.withUnsafeBytes { checksum.update($0) }
        let start: [UInt8] =
            [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4, 0, 0, 0, 0]
            + [UInt64(packedByteCount), UInt64(header.count)].flatMap {
                withUnsafeBytes(of: $0.littleEndian) { Array($0) }
            }
            + withUnsafeBytes(of: checksum.value.littleEndian) { Array($0) }
        return ConcatenatedSource([MemorySource(start)] + packed + [MemorySource(header)])
    }
}
