import BlobCore

extension ZipSearch.Found {
    /// Returns the bytes of the member, encrypted or not.
    func makeBody(
        _ info: BlobInfo, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        guard let encryption = self.entry.encryption else { return try self.makePlainBody(info, over: base, context) }
        return try self.makeBody(info, decrypting: encryption, over: base, context)
    }

    /// Returns bytes that are not encrypted: a ``ZipStream`` if they are stored or deflated, otherwise those that
    /// libarchive decodes, which is given this member alone.
    func makePlainBody(
        _ info: BlobInfo, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> BlobBody {
        if let method = ZipStream.Method(rawValue: self.entry.method) {
            return .stream(try ZipStream(self, method, info: info, context), startingAt: 0)
        }
        try self.checkMemory(context)
        // libarchive treats LZMA without content as an error.
        if self.entry.method == Self.lzma, self.entry.byteCount == 0, self.entry.checksum == 0 {
            return .positional(info) { _, _ in
                context.reportEnd(of: ArchiveFormat.zip.rawValue, byteCount: 0, check: "CRC-32")
            }
        }
        var data: any BlobInputStreamDataSource = base.slice(self.data)
        if self.entry.method == Self.xz { data = InspectedSource(base: data, inspector: XzInspector(context)) }
        let source = self.entry.alone(over: data)
        let search = MemberSearch(base: source, format: .zip, selector: .index(0), context: context)
        let found = try search.open(checksum: self.entry.hasChecksum ? self.entry.checksum : nil)
        return .stream(MemberStream(found, info: info, format: .zip, context), startingAt: 0)
    }

    /// The numbers of compression methods (APPNOTE.TXT 4.4.5).
    private static let (lzma, zstd, xz, ppmd) = (UInt16(14), UInt16(93), UInt16(95), UInt16(98))

    /// Checks the memory that decoding takes against the limit; libarchive has no limit of its own.
    private func checkMemory(_ context: BlobContext) throws(BlobError) {
        let byteCount = min(Int64(CompressionFormat.headerByteCount), Int64(self.data.count))
        let beginning = Array(try self.scanner.bytes(at: self.data.lowerBound, count: Int(byteCount)))
        var needed: UInt64?
        switch self.entry.method {
        // 5.8.8: two version numbers, the length of the properties, and the properties: a byte and the window.
        case Self.lzma where beginning.count >= 9: needed = CompressionFormat.number(beginning[5..<9])
        case Self.zstd: needed = CompressionFormat.zstd.windowByteCount(beginning)
        // 5.10.2: four bits of the model order, eight bits of the memory in MiB less one.
        case Self.ppmd where beginning.count >= 2:
            needed = ((CompressionFormat.number(beginning[0..<2]) >> 4 & 0xFF) + 1) << 20
        default: break
        }
        try context.checkMemory(needed ?? 0, for: "The member")
    }
}

extension ZipEntry {
    /// Returns a zip with this member alone: a local header made of the facts in the directory, which the member's own
    /// agreed with, the bytes, and an empty directory.
    func alone(over data: any BlobInputStreamDataSource) -> any BlobInputStreamDataSource {
        let end: [UInt8] = [0x50, 0x4B, 5, 6] + Array(repeating: 0, count: 18)
        return ConcatenatedSource([MemorySource(self.localHeader), data, MemorySource(end)])
    }

    /// A local header (4.3.7) made of the facts in the directory.
    private var localHeader: [UInt8] {
        let extra: [UInt8] =
            self.isZip64
            ? Self.bytes(UInt16(1)) + Self.bytes(UInt16(16)) + Self.bytes(self.byteCount)
                + Self.bytes(self.compressedByteCount)
            : []
        let fields = extra + (self.flags & 1 != 0 ? self.encryption?.storedField ?? [] : [])
        let lengths =
            self.isZip64 ? [.max, .max] : [UInt32(self.compressedByteCount), UInt32(self.byteCount)]
        let version: UInt16 = self.isZip64 ? 45 : 20
        // Only flag bits 0, encryption, and 1 are kept, which defines how LZMA ends: the lengths are in this header.
        // The name is not used.
        return [0x50, 0x4B, 3, 4] + Self.bytes(version) + Self.bytes(self.flags & 3) + Self.bytes(self.method)
            + Self.bytes(UInt32(0)) + Self.bytes(self.checksum) + lengths.flatMap { Self.bytes($0) }
            + Self.bytes(UInt16(1)) + Self.bytes(UInt16(fields.count)) + [UInt8(ascii: "m")] + fields
    }

    private var isZip64: Bool { max(self.byteCount, self.compressedByteCount) >= Int64(UInt32.max) }

    private static func bytes(_ number: some FixedWidthInteger) -> [UInt8] {
        withUnsafeBytes(of: number.littleEndian) { Array($0) }
    }
}
