import BlobCore
import BlobDeflate

/// A parser for the header of a 7z.
///
/// The header is parsed for three reasons: to limit the memory that libarchive would use for the archive, because it
/// has no limit of its own; to divide the archive into folders; and to list the members.
///
/// The parser interprets the header (7zFormat.txt) in the same way as libarchive, up to and including the members
/// without bytes. It leaves a malformed header to libarchive, which does not parse beyond the error either.
struct SevenZipHeader {
    /// The identifiers of the parts of a header.
    enum ID: UInt8 {
        case end = 0x00
        case header, archiveProperties, additionalStreams, mainStreams, files, packInfo, unpackInfo, subStreams, size
        case checksums, folders, coderSizes, streamCounts
        case names = 0x11
        case encodedHeader = 0x17
    }

    /// The approximate numbers of bytes that libarchive allocates for a folder, a member and so on, even if the header
    /// is too short to contain them.
    private enum Cost {
        static let folder: UInt64 = 350
        static let member: UInt64 = 100
        static let packedStream: UInt64 = 16
        static let subStream: UInt64 = 13
    }

    struct MalformedHeaderError: Error {}

    /// The length of the signature header; the offset of the members' header is relative to its end.
    static let startByteCount: Int64 = 32
    /// The maximum memory for a header in bytes: 128 MiB.
    private static let maximumByteCount: UInt64 = 128 << 20

    private let base: any BlobInputStreamDataSource
    private let isolation: ArchiveIsolation
    private let context: BlobContext
    private let keys: SevenZipKeys
    private var bytes: Bytes
    private var neededByteCount: UInt64 = 0
    private var hasSubStreams = false
    private var protection: SevenZipLayout.Protection?
    /// True once the folders are divided into streams.
    private var isDivided = false
    /// The division into folders that was parsed so far.
    private var layout = SevenZipLayout()

    /// Parses the header, and checks the memory that it needs against the limits.
    ///
    /// The memory for its members is checked when they are read, unless only libarchive can read them.
    ///
    /// - Parameter keys: The keys of an encrypted header.
    /// - Returns: The division of the archive into folders; nil if the header is malformed, or has parts that prevent
    ///   decoding a folder separately. The members are omitted if only libarchive can read them.
    /// - Throws: ``BlobError/Code/limitExceeded`` if too much memory is needed; ``BlobError/Code/unsupported`` if the
    ///   header has parts that no writer creates, or a method that is not supported; ``BlobError/Code/corrupted`` if
    ///   the signature is missing; ``BlobError/Code/encrypted`` if the header is encrypted and the password is missing
    ///   or wrong; any error reading the base.
    static func check(
        _ base: any BlobInputStreamDataSource, _ context: BlobContext, _ keys: SevenZipKeys = SevenZipKeys(),
        isolation: ArchiveIsolation = .helper
    ) throws(BlobError) -> SevenZipLayout? {
        let start = try base.beginning(Int(self.startByteCount), context)
        // Without the signature, libarchive would search for an archive after a program.
        guard start.starts(with: ArchiveFormat.sevenzip.signatures[0].bytes) else {
            throw BlobError(.corrupted, "Not a 7z archive: the signature at its start is missing.", byteOffset: 0)
        }
        let (offset, count, checksum) = start.withUnsafeBytes {
            ($0.number64(at: 12), $0.number64(at: 20), $0.number32(at: 28))
        }
        // An interrupted writer leaves zeros, whose CRC-32 is not zero.
        guard start.count < self.startByteCount || count > 0 || ArchiveFormat.isStartOfSevenZip(start) else {
            throw BlobError(
                .corrupted,
                "The start of the 7z archive does not refer to a header, and its checksum is wrong: the archive was "
                    + "not completed.",
                byteOffset: 8)
        }
        // Nothing follows the signature header of an archive without members.
        guard start.count == self.startByteCount, count > 0,
            let offset = Int64(exactly: offset), offset <= .max - self.startByteCount
        else { return nil }
        var layout = SevenZipLayout()
        do {
            // The declared length is not used, because libarchive reads to the end.
            let place = offset + self.startByteCount
            var header = SevenZipHeader(
                base: base, isolation: isolation, context: context, keys: keys,
                bytes: try Bytes(base.slice(place...), context))
            defer { layout = header.layout }
            if let layout = try header.readSound(at: place, Extent(byteCount: count, checksum: checksum)) {
                return layout
            }
        } catch is MalformedHeaderError {
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
        // libarchive may decode any folder.
        try layout.checkMemory(context)
        return nil
    }

    private mutating func reserveMemory(_ count: UInt64, _ byteCount: UInt64) throws {
        let (product, overflows) = count.multipliedReportingOverflow(by: byteCount)
        let (sum, overflowsToo) = self.neededByteCount.addingReportingOverflow(product)
        self.neededByteCount = overflows || overflowsToo ? .max : sum
        let limit = Self.maximumByteCount
        guard self.neededByteCount <= limit else {
            throw BlobError(
                .limitExceeded,
                "The header of the 7z archive needs \(self.neededByteCount) bytes of memory, more than the limit of "
                    + "\(limit)."
            )
        }
    }

    static var unexpectedHeaderError: BlobError {
        BlobError(.unsupported, "The header of the 7z archive uses features that are not supported.")
    }

    /// The expected length and checksum of a header; nil if unknown.
    private struct Extent {
        let byteCount: UInt64?
        let checksum: UInt32?
    }

    /// Parses the header.
    ///
    /// If an encrypted header has no checksum, as in archives from py7zr, invalid content is reported as a wrong
    /// password.
    private mutating func readSound(at byteOffset: Int64, _ declared: Extent) throws -> SevenZipLayout? {
        do {
            let layout = try self.read(at: byteOffset, declared)
            if layout?.members != nil || !self.isDoubtful { return layout }
        } catch {
            let cause = BlobError(wrapping: error)
            let isAboutContent = error is MalformedHeaderError || cause.isAboutFormat || cause.code == .limitExceeded
            guard self.isDoubtful, isAboutContent else { throw error }
        }
        throw BlobError.wrongPasswordError("The header of the 7z archive")
    }

    /// True if the header is encrypted, and no checksum has shown that the password is right.
    private var isDoubtful: Bool { self.protection.map { !self.keys.areVerified([$0.secret]) } ?? false }

    private mutating func read(at byteOffset: Int64, _ declared: Extent) throws -> SevenZipLayout? {
        var extent = declared
        var isSound = true
        var id = try self.bytes.readID()
        if id == .encodedHeader {
            let byteCount = try self.readStreams()
            guard !self.hasSubStreams else { throw Self.unexpectedHeaderError }
            try self.reserveMemory(byteCount ?? 0, 1)
            isSound = self.matches(extent)
            (self.bytes, extent) = try self.decoded(before: byteOffset)
            self.layout = SevenZipLayout()
            id = try self.bytes.readID()
        }
        guard id == .header else { throw MalformedHeaderError() }
        id = try self.bytes.readID()
        if id == .mainStreams {
            _ = try self.readStreams()
            id = try self.bytes.readID()
        }
        // libarchive parses archive properties differently, and no writer creates them.
        guard id == .files || id == .end else { throw Self.unexpectedHeaderError }
        guard id == .files else { return nil }
        let count = try self.bytes.readNumber()
        try self.reserveMemory(count, Cost.member)
        guard self.hasSubStreams, self.isDivided else { return nil }
        let members = try self.readMembers(Int(count))
        if isSound, self.matches(extent) { self.layout.members = members }
        self.layout.protection = self.protection
        return self.layout
    }

    /// Returns true if the bytes that were read match the expected length and checksum.
    private mutating func matches(_ extent: Extent) -> Bool {
        self.bytes.byteCount <= extent.byteCount ?? .max
            && self.bytes.checksum() == extent.checksum ?? self.bytes.checksum()
    }

    /// Decodes a compressed header by letting libarchive read it as the only member of a generated archive.
    private mutating func decoded(before byteOffset: Int64) throws -> (Bytes, Extent) {
        guard let folder = self.layout.folders.first, self.layout.makeWhole() else { throw MalformedHeaderError() }
        try self.layout.checkReadable(folder: 0, self.context)
        var protection: SevenZipLayout.Protection?
        let archive = try self.layout.archive(ofFolder: 0, in: self.base, byteCount: byteOffset) {
            [keys = self.keys, base = self.base, context = self.context] encryption throws(BlobError) in
            let (key, secret) = try keys.key(encryption, of: base.locator, context)
            protection = (encryption, secret)
            return key
        }
        guard let archive else { throw MalformedHeaderError() }
        let extent = Extent(byteCount: self.layout.streamByteCounts.first, checksum: folder.checksum)
        let isolation = self.layout.hasRareCoders ? self.isolation : nil
        let walker = try SevenZipWalker.decoder(over: archive, isolation, self.context)
        guard try walker.advance() else { throw MalformedHeaderError() }
        guard let protection else { return (Bytes { Array(try walker.nextBlock().bytes) }, extent) }
        // With a wrong password, no part of the header can be trusted.
        let bytes = try Self.allBytes(walker)
        if extent.checksum != nil { self.keys.markVerified([protection.secret]) }
        self.protection = protection
        return (Bytes(bytes), extent)
    }

    /// Returns the bytes of an encrypted header.
    private static func allBytes(_ walker: any MemberWalker) throws(BlobError) -> [UInt8] {
        var bytes: [UInt8] = []
        do throws(BlobError) {
            while case let block = try walker.nextBlock().bytes, !block.isEmpty { bytes += block }
        } catch  where error.isAboutFormat {
            throw .wrongPasswordError("The header of the 7z archive", error)
        }
        return bytes
    }

    /// Returns an archive that consists of packed streams and a header for them.
    static func archive(
        _ packed: [any BlobInputStreamDataSource], _ packedByteCount: Int64, _ header: [UInt8]
    ) -> some BlobInputStreamDataSource {
        let start: [UInt8] =
            [0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C, 0, 4, 0, 0, 0, 0]
            + [UInt64(packedByteCount), UInt64(header.count)].flatMap {
                withUnsafeBytes(of: $0.littleEndian) { Array($0) }
            }
            + withUnsafeBytes(of: CRC32(of: header).value.littleEndian) { Array($0) }
        return ConcatenatedSource([MemorySource(start)] + packed + [MemorySource(header)])
    }

    /// Parses the packed sizes, the coders, and the division of the folders into streams.
    ///
    /// - Returns: The unpacked size of the first folder in bytes; nil without folders.
    private mutating func readStreams() throws -> UInt64? {
        var id = try self.bytes.readID()
        if id == .packInfo {
            try self.readPackedByteCounts()
            id = try self.bytes.readID()
        }
        var firstByteCount: UInt64?
        if id == .unpackInfo {
            try self.readFolders()
            firstByteCount = try self.readUnpackedByteCounts()
            id = try self.bytes.readID()
        }
        self.hasSubStreams = id == .subStreams
        if id == .subStreams { id = try self.readSubStreams() }
        guard id == .end else { throw MalformedHeaderError() }
        return firstByteCount
    }

    private mutating func readPackedByteCounts() throws {
        self.layout.packedOffset = try self.bytes.readNumber()
        let count = try self.bytes.readNumber()
        try self.reserveMemory(count, Cost.packedStream)
        var byteCounts: [UInt64] = []
        var id = try self.bytes.readID()
        if id == .size {
            for _ in 0..<count { byteCounts.append(try self.bytes.readNumber()) }
            id = try self.bytes.readID()
            if id == .checksums {
                _ = try self.readChecksums(count)
                id = try self.bytes.readID()
            }
        }
        guard id == .end else { throw MalformedHeaderError() }
        self.layout.packedByteCounts = byteCounts
    }

    private mutating func readFolders() throws {
        guard try self.bytes.readID() == .folders else { throw MalformedHeaderError() }
        let count = try self.bytes.readNumber()
        try self.reserveMemory(count, Cost.folder)
        guard try self.bytes.readByte() == 0 else { throw Self.unexpectedHeaderError }
        self.bytes.isRecording = true
        for _ in 0..<count {
            let start = self.bytes.recordedBytes.count
            let coders = try SevenZipCoders(&self.bytes)
            self.layout.appendFolder(coders, self.bytes.recordedBytes[start...])
        }
        self.bytes.isRecording = false
    }

    /// Parses the unpacked size of each stream, and the checksums of the folders.
    ///
    /// - Returns: The unpacked size of the first folder in bytes; nil without folders.
    private mutating func readUnpackedByteCounts() throws -> UInt64? {
        guard try self.bytes.readID() == .coderSizes else { throw MalformedHeaderError() }
        var firstByteCount: UInt64?
        for index in self.layout.folders.indices {
            var byteCounts: [UInt64] = []
            for _ in 0..<self.layout.folders[index].outputCount { byteCounts.append(try self.bytes.readNumber()) }
            try self.layout.setByteCounts(byteCounts, ofFolder: index)
            if index == 0 { firstByteCount = byteCounts.max() }
        }
        var id = try self.bytes.readID()
        if id == .checksums {
            let checksums = try self.readChecksums(UInt64(self.layout.folders.count))
            for index in checksums.indices { self.layout.folders[index].checksum = checksums[index] }
            id = try self.bytes.readID()
        }
        guard id == .end else { throw MalformedHeaderError() }
        return firstByteCount
    }

    /// Parses the division of the folders into streams; returns the identifier that follows.
    private mutating func readSubStreams() throws -> ID {
        let folders = self.layout.folders
        var id = try self.bytes.readID()
        var counts = [UInt64](repeating: 1, count: folders.count)
        if id == .streamCounts {
            for index in folders.indices {
                counts[index] = try self.bytes.readNumber()
                try self.reserveMemory(counts[index], Cost.subStream)
            }
            id = try self.bytes.readID()
        }
        var byteCounts: [UInt64] = []
        if id == .size {
            for count in counts where count > 1 {
                for _ in 1..<count {
                    let byteCount = try self.bytes.readNumber()
                    // An archive with more streams is not divided into members.
                    if byteCounts.count < SevenZipLayout.maximumCount { byteCounts.append(byteCount) }
                }
            }
            id = try self.bytes.readID()
        }
        var checksums: [UInt32?] = []
        if id == .checksums {
            let count = zip(folders, counts).reduce(UInt64(0)) { sum, folder in
                sum + (folder.0.checksum != nil && folder.1 == 1 ? 0 : folder.1)
            }
            checksums = try self.readChecksums(count)
            id = try self.bytes.readID()
        }
        guard id == .end else { throw MalformedHeaderError() }
        self.isDivided = self.layout.divide(counts, byteCounts, checksums)
        return try self.bytes.readID()
    }

    /// Parses checksums, with nil for missing checksums. Skips the checksums if there are too many.
    private mutating func readChecksums(_ count: UInt64) throws -> [UInt32?] {
        let exist = try self.readBits(Int(count))
        var checksums: [UInt32?] = []
        for exists in exist {
            let checksum = exists ? try self.bytes.readFixed(UInt32.self) : nil
            if count <= SevenZipLayout.maximumCount { checksums.append(checksum) }
        }
        return checksums
    }

    /// Parses a bit for each of `count` items; if the first byte is nonzero, no bits follow, and all bits are ones.
    private mutating func readBits(_ count: Int) throws -> [Bool] {
        guard try self.bytes.readByte() == 0 else { return [Bool](repeating: true, count: count) }
        return try self.readPlainBits(count)
    }

    /// Parses `count` bits, the highest bit of each byte first.
    private mutating func readPlainBits(_ count: Int) throws -> [Bool] {
        var are = [Bool](repeating: false, count: count)
        var bits: UInt8 = 0
        for index in are.indices {
            if index & 7 == 0 { bits = try self.bytes.readByte() }
            are[index] = bits & 0x80 != 0
            bits <<= 1
        }
        return are
    }

    /// The properties of members that affect the division into streams, or whose length is checked.
    private enum Property {
        static let end: UInt64 = 0
        /// The property with a bit for each member, which is set if the member has no bytes.
        static let emptyStreams: UInt64 = 0x0E
        /// The property with a bit for each member without bytes, which is set if the member is a file.
        static let emptyFiles: UInt64 = 0x0F
        static let names: UInt64 = 0x11
        /// The times of creation and access, of 8 bytes each, like the time of modification.
        static let otherTimes: ClosedRange<UInt64> = 0x12...0x13
        static let modificationTimes: UInt64 = 0x14
        static let attributes: UInt64 = 0x15
    }

    /// Parses the members.
    ///
    /// The stated length of a property must match its content, because libarchive relies sometimes on one and sometimes
    /// on the other.
    ///
    /// - Returns: The members; nil if they have no names, or names that only libarchive can decode.
    private mutating func readMembers(_ count: Int) throws -> SevenZipMembers? {
        var (hasBytes, areEmptyFiles): ([Bool]?, [Bool]?)
        var names: [UInt8]?
        var attributes: [UInt32?]?
        var times = [UInt64?](repeating: nil, count: count)
        while case let property = try self.bytes.readNumber(), property != Property.end {
            let byteCount = try self.bytes.readNumber()
            switch property {
            case Property.emptyStreams:
                guard hasBytes == nil, byteCount == (UInt64(count) + 7) / 8 else { throw MalformedHeaderError() }
                hasBytes = try self.readPlainBits(count).map { !$0 }
            case Property.emptyFiles:
                let emptyCount = hasBytes?.count { !$0 } ?? 0
                guard emptyCount > 0 else {
                    try self.bytes.readParts(byteCount) { _ in }
                    continue
                }
                guard areEmptyFiles == nil, byteCount == (UInt64(emptyCount) + 7) / 8 else {
                    throw MalformedHeaderError()
                }
                areEmptyFiles = try self.readPlainBits(emptyCount)
            case Property.names:
                guard names == nil, byteCount % 2 == 1, try self.bytes.readByte() == 0 else {
                    throw MalformedHeaderError()
                }
                try self.reserveMemory(byteCount, 1)
                names = []
                names?.reserveCapacity(Int(byteCount))
                try self.bytes.readParts(byteCount - 1) { names? += $0 }
            case Property.modificationTimes:
                let read = try self.readValues(UInt64.self, count, byteCount)
                times = zip(read, times).map { $0 ?? $1 }
            case Property.otherTimes: _ = try self.readValues(UInt64.self, count, byteCount)
            case Property.attributes:
                guard attributes == nil else { throw MalformedHeaderError() }
                attributes = try self.readValues(UInt32.self, count, byteCount)
            default: try self.bytes.readParts(byteCount) { _ in }
            }
        }
        guard try self.bytes.readID() == .end, self.layout.divide(hasBytes, count) else { throw MalformedHeaderError() }
        return names.flatMap { names in
            SevenZipMembers(
                names: names, attributes: attributes?.map { $0 ?? 0 } ?? [UInt32](repeating: 0, count: count),
                times: times, hasBytes: hasBytes, areEmptyFiles: areEmptyFiles)
        }
    }

    /// Parses the values of a property for the members that have a value.
    private mutating func readValues<Value: FixedWidthInteger>(
        _: Value.Type, _ count: Int, _ byteCount: UInt64
    ) throws -> [Value?] {
        let isForAll = try self.bytes.readByte() != 0
        let exist = isForAll ? nil : try self.readPlainBits(count)
        // Two bytes declare whether all members have a value, and whether the values are stored elsewhere.
        let rest = (exist?.count { $0 } ?? count) * MemoryLayout<Value>.size
        guard byteCount == UInt64(2 + (isForAll ? 0 : (count + 7) / 8) + rest), try self.bytes.readByte() == 0 else {
            throw MalformedHeaderError()
        }
        var values = [Value?](repeating: nil, count: count)
        for index in values.indices where exist?[index] ?? true { values[index] = try self.bytes.readFixed(Value.self) }
        return values
    }
}
