import BlobCore
import BlobPlatform

/// A walker over the headers of a tar: v7, ustar, pax and GNU, with long names and sparse files.
///
/// Where writers disagree, the walker follows the interpretation of libarchive. Reading a header allocates no memory
/// unless the header has extensions or its ``entry`` is needed.
final class TarWalker: MemberWalker {
    /// The maximum number of bytes of headers before a single member: 64 MiB.
    private static let maximumHeaderByteCount: Int64 = 64 << 20

    private let base: any BlobInputStreamDataSource
    private let blocks: TarBlocks
    private let context: BlobContext

    private(set) var index = -1
    private var isAtEnd = false
    private var globals = TarGlobals()
    /// True after a pax extension; from then on, hard links may also have bytes. Nil after a jump, until it matters.
    private var isPax: Bool? = false

    // The current member.
    private var startOffset: Int64 = 0
    /// The name, in memory that is reused for all members unless an ``entry`` shares it.
    private var name: [UInt8] = []
    private var linkName: [UInt8] = []
    private var kind = BlobMember.Kind.file
    private var specialKind: BlobMember.SpecialKind?
    private var mode: Int64 = 0
    private var modificationTime = 0.0
    /// The length in bytes, including holes.
    private var byteCount: Int64 = 0
    private var warning: String?
    private var data = TarMemberData()

    init(over base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        self.blocks = try TarBlocks(over: base, context)
        (self.base, self.context) = (base, context)
    }

    var baseInfo: BlobInfo { self.blocks.scanner.info }
    var isSequential: Bool { !self.blocks.scanner.hasRandomAccess }
    /// Nil after global records, because a reader that starts at this position would not have read them.
    var entryOffset: Int64? { self.globals.isEmpty ? self.startOffset : nil }

    func go(to place: Int64, index: Int) {
        self.blocks.nextOffset = place
        self.index = index - 1
        self.isAtEnd = false
        self.isPax = nil
    }

    func isNamed(_ name: [UInt8]) -> Bool {
        self.name.withUnsafeBytes { own in name.withUnsafeBytes { own.isEqual(to: $0) } }
    }

    var entry: ArchiveEntry {
        let hasLength = self.kind == .file || self.kind == .hardLink
        let isLink = self.kind == .hardLink || self.kind == .symbolicLink
        return ArchiveEntry(
            member: BlobMember(
                index: self.index, name: self.name, kind: self.kind, specialKind: self.specialKind,
                byteCount: hasLength ? self.byteCount : nil,
                modificationTime: Date(memberTime: self.modificationTime),
                permissions: UInt16(truncatingIfNeeded: self.mode & 0o7777), linkTarget: isLink ? self.linkName : nil),
            warning: self.warning)
    }

    func finish() throws(BlobError) {
        if self.isSequential { try self.blocks.scanner.drain() }
    }

    func advance() throws(BlobError) -> Bool {
        guard !self.isAtEnd else { return false }
        var extensions = TarExtensions()
        let limit = self.blocks.nextOffset.addingReportingOverflow(Self.maximumHeaderByteCount).partialValue
        while let header = try self.blocks.nextHeader() {
            switch header.type {
            // A volume name.
            case UInt8(ascii: "V"): self.blocks.nextOffset += Int64(TarHeader.byteCount)
            // Access control lists of Solaris.
            case UInt8(ascii: "A"):
                try self.blocks.begin(header.size)
                self.blocks.advance()
            case UInt8(ascii: "g"):
                self.isPax = true
                self.globals.merge(PaxRecords(try self.blocks.body(of: header)))
            case UInt8(ascii: "x"), UInt8(ascii: "X"), UInt8(ascii: "L"), UInt8(ascii: "K"):
                extensions.startOffset = extensions.startOffset ?? self.blocks.nextOffset
                try self.apply(header, into: &extensions)
            default:
                try self.applyMember(header, extensions)
                self.index += 1
                if self.index & 0xFF == 0 { try self.context.check() }
                return true
            }
            guard self.blocks.nextOffset <= limit else {
                throw BlobError(
                    .limitExceeded,
                    "The headers before a member exceed the limit of \(Self.maximumHeaderByteCount) bytes.",
                    byteOffset: self.blocks.nextOffset)
            }
        }
        guard extensions.isEmpty else {
            throw BlobError(
                .truncated, "The tar archive ends between an extension header and its member.",
                byteOffset: self.blocks.nextOffset)
        }
        try self.blocks.checkEnd(self.context)
        self.isAtEnd = true
        return false
    }

    var storedRange: Range<Int64>? {
        let data = self.blocks.data
        guard !self.data.isSparse, self.byteCount == Int64(data.count), self.blocks.scanner.hasRandomAccess,
            data.upperBound <= self.blocks.scanner.info.byteCount ?? 0
        else { return nil }
        return data
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.data.next(in: self.blocks)
            ?? (UnsafeRawBufferPointer(start: nil, count: 0), max(self.byteCount, self.data.byteOffset))
    }

    func readDirectly(into output: inout OutputRawSpan) throws(BlobError) -> Int {
        try self.data.readDirectly(self.blocks, into: &output)
    }

    private func apply(_ header: TarHeader, into extensions: inout TarExtensions) throws(BlobError) {
        // The next read may remove the header from the buffer.
        let type = header.type
        let body = try self.blocks.body(of: header)
        switch type {
        case UInt8(ascii: "L"): extensions.setLongName(body)
        case UInt8(ascii: "K"): extensions.setLongLinkName(body)
        default:
            self.isPax = true
            extensions.pax = PaxRecords(body)
            extensions.isPaxFirst = extensions.isPaxFirst || !extensions.hasLongNames
        }
    }

    private func applyMember(_ header: TarHeader, _ extensions: TarExtensions) throws(BlobError) {
        let dialect = header.dialect
        if dialect != .ustar { self.isPax = extensions.pax != nil }
        self.startOffset = extensions.startOffset ?? self.blocks.nextOffset
        self.warning = extensions.pax?.warning
        self.mode = header.mode
        let own = extensions.pax
        self.modificationTime =
            own?.modificationTime ?? (own?.has("mtime") ?? false ? nil : self.globals.modificationTime)
            ?? Double(header.modificationTime)
        self.applyName(header, dialect, extensions.name)
        (self.kind, self.specialKind) = Self.kind(header.type)
        if self.kind == .file, self.name.last == UInt8(ascii: "/") { self.kind = .directory }
        if self.kind == .hardLink || self.kind == .symbolicLink {
            self.linkName = extensions.linkName ?? Array(header.linkName)
        }
        self.data = TarMemberData()
        var size = header.size
        let realSize = extensions.pax?.realSize ?? (dialect == .gnu ? header.realSize : nil)
        let isSparse = dialect == .gnu && header.block[386] != 0
        let isExtended = header.block[482] != 0
        if isSparse { self.data.regions = TarRegion.regions(in: header, at: 386, count: 4) }
        // The next read may remove the header from the buffer.
        let type = header.type
        if let byteCount = own?.size {
            size = byteCount
        } else if try !self.hasBody(type, size, dialect) {
            size = 0
        } else if let global = self.globals.size, self.kind == .file {
            size = global
        }
        let headerByteCount = isSparse && isExtended ? try self.data.takeSparseBlocks(in: self.blocks) : 0
        try self.blocks.begin(size, headerByteCount: Int64(TarHeader.byteCount) + headerByteCount)
        self.byteCount = realSize ?? size
        if self.byteCount < 0 {
            self.byteCount = 0
            self.warning = self.warning ?? "the expanded size of the sparse file is negative"
        }
        if let regions = extensions.pax?.sparseRegions { self.data.regions = regions }
        self.data.hasMapInData = extensions.pax?.hasMapInData ?? false
        self.blocks.advance()
    }

    /// Sets the name of a member from its own header, unless an extension contains another name.
    private func applyName(_ header: TarHeader, _ dialect: TarHeader.Dialect, _ longName: [UInt8]?) {
        if let longName { return self.name = longName }
        self.name.removeAll(keepingCapacity: true)
        if dialect == .ustar, header.block[345] != 0 {
            self.name += header.prefix
            if self.name.last != UInt8(ascii: "/") { self.name.append(UInt8(ascii: "/")) }
        }
        self.name += header.name
    }

    private static func kind(_ type: UInt8) -> (BlobMember.Kind, BlobMember.SpecialKind?) {
        switch type {
        case UInt8(ascii: "1"): (.hardLink, nil)
        case UInt8(ascii: "2"): (.symbolicLink, nil)
        case UInt8(ascii: "3"): (.special, .characterDevice)
        case UInt8(ascii: "4"): (.special, .blockDevice)
        case UInt8(ascii: "6"): (.special, .fifo)
        // A part of a file that began on another volume, and a GNU list of names.
        case UInt8(ascii: "M"), UInt8(ascii: "N"): (.special, nil)
        // "D" is a GNU directory with a list of its entries.
        case UInt8(ascii: "5"), UInt8(ascii: "D"): (.directory, nil)
        default: (.file, nil)
        }
    }

    /// Returns true if the declared number of bytes follows the header.
    private func hasBody(_ type: UInt8, _ size: Int64, _ dialect: TarHeader.Dialect) throws(BlobError) -> Bool {
        switch type {
        case UInt8(ascii: "2")...UInt8(ascii: "6"): return false
        case UInt8(ascii: "1"):
            // In pax, a link may have bytes; old writers declared bytes without storing them; ustar allows either.
            guard size != 0, dialect == .ustar else { return false }
            guard self.isPax != true, try self.blocks.block(at: Int64(TarHeader.byteCount))?.isChecksumRight == true
            else { return true }
            if self.isPax == nil { self.isPax = try self.followsPax() }
            return self.isPax == true
        default: return true
        }
    }

    /// Returns true if a pax extension precedes the current member; reads all headers before it.
    private func followsPax() throws(BlobError) -> Bool {
        let walker = try TarWalker(over: self.base, self.context)
        while try walker.advance(), walker.startOffset < self.startOffset {}
        return walker.isPax == true
    }
}
