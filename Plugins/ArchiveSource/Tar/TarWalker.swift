import BlobCore
import BlobPlatform

/// A walker over the headers of a tar: v7, ustar, pax and GNU, with long names and sparse files.
///
/// Where writers disagree, follows the interpretation of libarchive. Reading a header allocates nothing unless it has
/// extensions or its ``entry`` is needed.
final class TarWalker: MemberWalker {
    /// The maximum number of bytes of headers before a single member: 64 MiB.
    private static let maximumHeaderByteCount: Int64 = 64 << 20

    private let scanner: ArchiveScanner
    private let context: BlobContext

    /// The offset of the next header.
    private var nextOffset: Int64 = 0
    private(set) var index = -1
    private var isAtEnd = false
    private var globals = TarGlobals()
    /// True after a pax extension, since which even hard links may have bytes.
    private var isPax = false

    // The current member.
    private var start: Int64 = 0
    /// The name in its own header, unless an extension has another.
    private let headerName: UnsafeMutableRawBufferPointer
    private var headerNameCount = 0
    private var longName: [UInt8]?
    private var linkName: [UInt8] = []
    private var kind = BlobMember.Kind.file
    private var mode: Int64 = 0
    private var modificationTime = 0.0
    /// The length in bytes with all holes.
    private var byteCount: Int64 = 0
    private var warning: String?
    /// The range in the archive of the bytes that are not read yet.
    private var data: Range<Int64> = 0..<0
    private var hasMapInData = false
    private var parts: [TarSparsePart]?
    private var partIndex = 0
    private var partPosition: Int64 = 0
    private var byteOffset: Int64 = 0

    init(over base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        self.scanner = try ArchiveScanner(base, context)
        self.context = context
        // Allocated last, because nothing frees it when the initializer throws.
        self.headerName = .allocate(byteCount: 155 + 1 + 100, alignment: 1)
    }

    deinit { self.headerName.deallocate() }

    var baseInfo: BlobInfo { self.scanner.info }
    var isSequential: Bool { !self.scanner.hasRandomAccess }
    /// Nil after global records, which would be unknown at the place.
    var place: Int64? { self.globals.isEmpty ? self.start : nil }

    func go(to place: Int64, index: Int) {
        self.nextOffset = place
        self.index = index - 1
        self.isAtEnd = false
        // The headers before this place are unknown; what pax allows does no harm to other dialects.
        self.isPax = true
    }

    func isNamed(_ name: [UInt8]) -> Bool {
        if let longName { return longName == name }
        guard self.headerNameCount == name.count else { return false }
        return name.withUnsafeBytes { $0.isEqual(to: self.shortName) }
    }

    private var shortName: UnsafeRawBufferPointer {
        UnsafeRawBufferPointer(rebasing: self.headerName[..<self.headerNameCount])
    }

    var entry: ArchiveEntry {
        let hasLength = self.kind == .file || self.kind == .hardLink
        let isLink = self.kind == .hardLink || self.kind == .symbolicLink
        return ArchiveEntry(
            member: BlobMember(
                index: self.index, name: self.longName ?? Array(self.shortName), kind: self.kind,
                byteCount: hasLength ? self.byteCount : nil,
                modificationTime: Date(memberTime: self.modificationTime),
                permissions: UInt16(truncatingIfNeeded: self.mode & 0o7777), linkTarget: isLink ? self.linkName : nil),
            warning: self.warning, linkCount: 1)
    }

    func finish() throws(BlobError) {
        if self.isSequential { try self.scanner.drain() }
    }

    func advance() throws(BlobError) -> Bool {
        guard !self.isAtEnd else { return false }
        var extensions = TarExtensions()
        let limit = self.nextOffset.addingReportingOverflow(Self.maximumHeaderByteCount).partialValue
        while let header = try self.nextHeader() {
            switch header.type {
            // A volume name.
            case UInt8(ascii: "V"): self.nextOffset += Int64(TarHeader.byteCount)
            // Access control lists of Solaris.
            case UInt8(ascii: "A"):
                try self.begin(header.size)
                self.nextOffset = self.endOfBlocks(self.data.upperBound)
            case UInt8(ascii: "g"):
                self.isPax = true
                self.globals.merge(PaxRecords(try self.body(of: header)))
            case UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "L"), UInt8(ascii: "K"):
                extensions.start = extensions.start ?? self.nextOffset
                try self.take(header, into: &extensions)
            default:
                try self.takeMember(header, extensions)
                self.index += 1
                if self.index & 0xFF == 0 { try self.context.check() }
                return true
            }
            guard self.nextOffset <= limit else {
                throw BlobError(
                    .limitExceeded,
                    "The headers before a member take more than the limit of \(Self.maximumHeaderByteCount) bytes.",
                    byteOffset: self.nextOffset)
            }
        }
        guard extensions.isEmpty else {
            throw BlobError(
                .truncated, "The tar archive ends between an extension and its member.", byteOffset: self.nextOffset)
        }
        self.isAtEnd = true
        return false
    }

    var storedRange: Range<Int64>? {
        let isWhole = self.parts == nil && !self.hasMapInData && self.byteCount == Int64(self.data.count)
        return isWhole && self.scanner.hasRandomAccess && self.data.upperBound <= self.scanner.info.byteCount ?? 0
            ? self.data : nil
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        if self.hasMapInData { try self.readMap() }
        guard let part = self.currentPart() else {
            guard self.data.isEmpty || self.parts == nil else { throw self.sparseLengthError }
            return (UnsafeRawBufferPointer(start: nil, count: 0), max(self.byteCount, self.byteOffset))
        }
        guard !self.data.isEmpty else { throw self.sparseLengthError }
        let rest = min(part.byteCount - self.partPosition, self.data.upperBound - self.data.lowerBound)
        let bytes = try self.scanner.some(at: self.data.lowerBound, atMost: rest)
        guard !bytes.isEmpty else { throw self.isTruncated }
        let (offset, overflows) = part.byteOffset.addingReportingOverflow(self.partPosition)
        guard !overflows, part.byteOffset >= 0 else {
            throw BlobError(.corrupted, "A part of the sparse file is out of range.", byteOffset: self.start)
        }
        self.data = (self.data.lowerBound + Int64(bytes.count))..<self.data.upperBound
        self.partPosition += Int64(bytes.count)
        self.byteOffset = offset &+ Int64(bytes.count)
        return (bytes, offset)
    }

    private var sparseLengthError: BlobError {
        BlobError(
            .corrupted, "The lengths of the parts of the sparse file do not add up to its bytes in the archive.",
            byteOffset: self.data.lowerBound)
    }

    /// Returns the part that the next bytes belong to; nil after the last one.
    private func currentPart() -> TarSparsePart? {
        guard let parts else { return self.data.isEmpty ? nil : TarSparsePart(byteOffset: 0, byteCount: .max) }
        while self.partIndex < parts.count {
            let part = parts[self.partIndex]
            if self.partPosition < part.byteCount { return part }
            self.partIndex += 1
            self.partPosition = 0
        }
        return nil
    }

    /// Returns the header at ``nextOffset``; nil at the end of the archive.
    private func nextHeader() throws(BlobError) -> TarHeader? {
        let block = try self.scanner.bytes(at: self.nextOffset, count: TarHeader.byteCount)
        guard block.count == TarHeader.byteCount else {
            // An archive may end without the final zeros, but not within a header or a member.
            guard block.isEmpty, self.scanner.readerOffset == self.nextOffset else { throw self.isTruncated }
            return nil
        }
        let header = TarHeader(block)
        if block[0] == 0, header.isZero { return nil }
        guard header.isChecksumRight else {
            throw BlobError(
                .corrupted, "This is no header of a tar archive: its checksum is wrong.", byteOffset: self.nextOffset)
        }
        return header
    }

    private var isTruncated: BlobError {
        BlobError(
            .truncated, "The tar archive ends too early.", byteOffset: min(self.scanner.readerOffset, self.nextOffset))
    }

    /// Sets ``data`` to the range of the bytes after the header at ``nextOffset``, which are padded to whole blocks.
    private func begin(_ byteCount: Int64, headerByteCount: Int64 = Int64(TarHeader.byteCount)) throws(BlobError) {
        let start = self.nextOffset + headerByteCount
        let (sum, overflows) = start.addingReportingOverflow(byteCount)
        guard byteCount >= 0, !overflows, sum <= Int64.max - 511 else {
            throw BlobError(
                .corrupted, "The length of a member, \(byteCount) bytes, is out of range.",
                byteOffset: self.nextOffset)
        }
        self.data = start..<sum
    }

    private func endOfBlocks(_ byteOffset: Int64) -> Int64 { (byteOffset + 511) & ~511 }

    /// Reads the bytes of an extension, and moves behind them.
    private func body(of header: TarHeader) throws(BlobError) -> [UInt8] {
        let byteCount = header.size
        guard byteCount <= TarExtensions.maximumByteCount else {
            throw BlobError(
                .limitExceeded,
                "A header has \(byteCount) bytes, the limit is \(TarExtensions.maximumByteCount).",
                byteOffset: self.nextOffset)
        }
        try self.begin(byteCount)
        var body: [UInt8] = []
        while !self.data.isEmpty {
            let bytes = try self.scanner.some(at: self.data.lowerBound, atMost: Int64(self.data.count))
            guard !bytes.isEmpty else { throw self.isTruncated }
            body.append(contentsOf: bytes)
            self.data = (self.data.lowerBound + Int64(bytes.count))..<self.data.upperBound
        }
        self.nextOffset = self.endOfBlocks(self.data.upperBound)
        return body
    }

    private func take(_ header: TarHeader, into extensions: inout TarExtensions) throws(BlobError) {
        // Afterwards the header may no longer be in the buffer.
        let type = header.type
        let body = try self.body(of: header)
        switch type {
        case UInt8(ascii: "L"): extensions.takeLongName(body)
        case UInt8(ascii: "K"): extensions.takeLongLinkName(body)
        default:
            self.isPax = true
            extensions.pax = PaxRecords(body)
            extensions.paxIsFirst = extensions.paxIsFirst || !extensions.hasLongNames
        }
    }

    private func takeMember(_ header: TarHeader, _ extensions: TarExtensions) throws(BlobError) {
        let dialect = header.dialect
        if dialect != .ustar { self.isPax = extensions.pax != nil }
        self.start = extensions.start ?? self.nextOffset
        self.warning = extensions.pax?.warning
        self.mode = header.mode
        let own = extensions.pax
        self.modificationTime =
            own?.modificationTime ?? (own?.has("mtime") ?? false ? nil : self.globals.modificationTime)
            ?? Double(header.modificationTime)
        self.takeName(header, dialect, extensions.name)
        self.kind = Self.kind(header.type)
        if self.kind == .file, (self.longName.map(\.last) ?? self.shortName.last) == UInt8(ascii: "/") {
            self.kind = .directory
        }
        if self.kind == .hardLink || self.kind == .symbolicLink {
            self.linkName = extensions.linkName ?? Array(header.linkName)
        }
        if self.parts != nil { self.parts = nil }
        (self.partIndex, self.partPosition, self.byteOffset) = (0, 0, 0)
        var size = header.size
        let realSize = extensions.pax?.realSize ?? (dialect == .gnu ? header.realSize : nil)
        let isSparse = dialect == .gnu && header.block[386] != 0
        let isExtended = header.block[482] != 0
        if isSparse { self.parts = TarSparsePart.parts(in: header, at: 386, count: 4) }
        // From here on the header may no longer be in the buffer.
        let type = header.type
        if let byteCount = own?.size {
            size = byteCount
        } else if try !self.hasBody(type, size, dialect) {
            size = 0
        } else if let global = self.globals.size, self.kind == .file {
            size = global
        }
        let headerByteCount = isSparse && isExtended ? try self.takeSparseBlocks() : 0
        try self.begin(size, headerByteCount: Int64(TarHeader.byteCount) + headerByteCount)
        self.byteCount = realSize ?? size
        if self.byteCount < 0 {
            self.byteCount = 0
            self.warning = self.warning ?? "its length with its holes is negative"
        }
        if let parts = extensions.pax?.sparseParts { self.parts = parts }
        self.hasMapInData = extensions.pax?.hasMapInData ?? false
        self.nextOffset = self.endOfBlocks(self.data.upperBound)
    }

    private func takeName(_ header: TarHeader, _ dialect: TarHeader.Dialect, _ longName: [UInt8]?) {
        self.longName = longName
        guard longName == nil else { return }
        self.headerNameCount = 0
        if dialect == .ustar, header.block[345] != 0 {
            let prefix = header.prefix
            self.append(prefix)
            if prefix.last != UInt8(ascii: "/") {
                self.headerName[self.headerNameCount] = UInt8(ascii: "/")
                self.headerNameCount += 1
            }
        }
        self.append(header.name)
    }

    private func append(_ bytes: UnsafeRawBufferPointer) {
        UnsafeMutableRawBufferPointer(rebasing: self.headerName[self.headerNameCount...]).copyMemory(from: bytes)
        self.headerNameCount += bytes.count
    }

    private static func kind(_ type: UInt8) -> BlobMember.Kind {
        switch type {
        case UInt8(ascii: "1"): .hardLink
        case UInt8(ascii: "2"): .symbolicLink
        // Devices and FIFOs; a part of a file that began on another volume; a GNU list of names.
        case UInt8(ascii: "3"), UInt8(ascii: "4"), UInt8(ascii: "6"), UInt8(ascii: "M"), UInt8(ascii: "N"): .special
        // The second is a GNU directory with a list of its entries.
        case UInt8(ascii: "5"), UInt8(ascii: "D"): .directory
        default: .file
        }
    }

    /// Returns true when the bytes that the header declares follow it.
    private func hasBody(_ type: UInt8, _ size: Int64, _ dialect: TarHeader.Dialect) throws(BlobError) -> Bool {
        switch type {
        case UInt8(ascii: "2")...UInt8(ascii: "6"): return false
        case UInt8(ascii: "1"):
            // In pax a link may have bytes, old writers declared bytes that are not there, and ustar leaves it open.
            guard size != 0, dialect == .ustar, !self.isPax else { return size != 0 && dialect == .ustar }
            let next = self.nextOffset + Int64(TarHeader.byteCount)
            let block = try self.scanner.bytes(at: next, count: TarHeader.byteCount)
            return !TarHeader(block).isChecksumRight
        default: return true
        }
    }

    /// Reads the blocks after a GNU header that continue its list of parts; returns their length in bytes.
    private func takeSparseBlocks() throws(BlobError) -> Int64 {
        var byteCount: Int64 = 0
        while true {
            let place = self.nextOffset + Int64(TarHeader.byteCount) + byteCount
            let block = try self.scanner.bytes(at: place, count: TarHeader.byteCount)
            guard block.count == TarHeader.byteCount else { throw self.isTruncated }
            self.parts?.append(contentsOf: TarSparsePart.parts(in: TarHeader(block), at: 0, count: 21))
            byteCount += Int64(TarHeader.byteCount)
            guard self.parts?.count ?? 0 <= TarSparsePart.maximumCount,
                byteCount <= Int64(TarSparsePart.maximumCount) * 24
            else {
                throw BlobError(
                    .limitExceeded, "The sparse file has more parts than the limit of \(TarSparsePart.maximumCount).",
                    byteOffset: place)
            }
            if block[504] == 0 { return byteCount }
        }
    }

    /// Reads the list of format 1.0, which takes whole blocks before the bytes.
    private func readMap() throws(BlobError) {
        self.hasMapInData = false
        var map = TarSparseMap()
        let start = self.data.lowerBound
        while true {
            let bytes = try self.scanner.some(at: self.data.lowerBound, atMost: Int64(self.data.count))
            guard !bytes.isEmpty else {
                throw self.data.isEmpty
                    ? BlobError(.corrupted, "The map of the sparse file has no end.", byteOffset: start)
                    : self.isTruncated
            }
            for (position, byte) in bytes.enumerated() where try map.take(byte) {
                let end = start + self.endOfBlocks(self.data.lowerBound + Int64(position) + 1 - start)
                self.data = min(end, self.data.upperBound)..<self.data.upperBound
                self.parts = map.parts
                return
            }
            self.data = (self.data.lowerBound + Int64(bytes.count))..<self.data.upperBound
        }
    }
}
