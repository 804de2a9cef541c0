import BlobCore
import BlobDeflate

/// A walker over a RAR, which recognises encrypted members of version 5 and compares the checksums of members.
/// libarchive treats encrypted members as damaged or, if stored, as intact, and omits the checksums of stored members.
///
/// The walker reads the headers itself, so the base must be repeatable.
final class RARWalker: WalkerLayer {
    let base: any MemberWalker
    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private var headers: RAR5Headers?
    private var isEncrypted = false
    /// The checksum of the bytes so far, and the checksum in the header; nil if the header has none.
    private var checksum: (value: CRC32, expected: UInt32)?

    init(
        _ walker: any MemberWalker, over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) {
        (self.base, self.source, self.context) = (walker, base, context)
        self.headers = base.traits.contains(.repeatable) ? try RAR5Headers(base, context) : nil
    }

    /// Nil also for BLAKE2sp, which libarchive does not verify for stored members.
    var check: String? { self.headers != nil && self.checksum == nil ? nil : self.base.check }

    var entry: ArchiveEntry {
        var entry = self.base.entry
        if self.isEncrypted { entry.member.isEncrypted = true }
        return entry
    }

    func advance() throws(BlobError) -> Bool {
        guard try self.base.advance() else {
            try self.checkEnd()
            return false
        }
        let file = try self.headers?.next()
        // After an invalid header, libarchive handles the rest alone.
        if file == nil { self.headers = nil }
        self.isEncrypted = file?.isEncrypted ?? false
        self.checksum = file?.checksum.map { (CRC32(), $0) }
        return true
    }

    /// Checks that only zeros, or the signature of a self-extracting program, follow the end of the archive.
    private func checkEnd() throws(BlobError) {
        guard self.source.traits.contains(.repeatable), !self.source.followsProgram else { return }
        _ = try self.headers?.next()
        let scanner = try ArchiveScanner(self.source, self.context)
        let end: Int64? = if let end = self.headers?.endOffset { end } else { try Self.endOfVersion4(scanner) }
        guard let end else { return }
        try scanner.checkEnd(of: .rar, at: end, self.context)
    }

    /// Returns the offset after the end of an archive before version 5; nil if the archive has no end mark, or its
    /// headers are encrypted.
    ///
    /// Each block has a checksum, a kind, flags, its length and, if a flag is set, the length of the data after it.
    private static func endOfVersion4(_ scanner: ArchiveScanner) throws(BlobError) -> Int64? {
        let signature: [UInt8] = Array("Rar!".utf8) + [0x1A, 7, 0]
        guard try scanner.bytes(at: 0, count: signature.count).elementsEqual(signature) else { return nil }
        var place = Int64(signature.count)
        while case let header = try scanner.bytes(at: place, count: 36), header.count >= 7 {
            let (kind, flags, count) = (header[2], header.number16(at: 3), header.number16(at: 5))
            guard count >= 7, kind != 0x73 || flags & 0x80 == 0 else { return nil }
            place += Int64(count)
            if kind == 0x7B { return place }
            guard flags & 0x8000 != 0 || kind == 0x74 || kind == 0x7A else { continue }
            let isLarge = flags & 0x100 != 0 && (kind == 0x74 || kind == 0x7A)
            let data =
                Int64(header.number32(at: 7)) | (isLarge ? Int64(header.number32(at: 32) & 0x7FFF_FFFF) << 32 : 0)
            let (next, overflows) = place.addingReportingOverflow(data)
            guard !overflows else { return nil }
            place = next
        }
        return nil
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        let block = try self.base.nextBlock()
        self.checksum?.value.update(block.bytes)
        if block.bytes.isEmpty { try self.checksum?.value.check(self.checksum?.expected, in: "its header") }
        return block
    }
}

/// The file headers of a RAR of version 5, parsed for the encryption and the checksums of members (RAR 5.0 archive
/// format, at rarlab.com/technote.htm).
struct RAR5Headers {
    /// The facts about a member.
    struct File {
        let isEncrypted: Bool
        /// The CRC-32 of the bytes; nil if the header has none, or only the checksum of a part in this volume.
        let checksum: UInt32?
    }

    private static let signature: [UInt8] = Array("Rar!".utf8) + [0x1A, 7, 1, 0]
    /// The maximum length in bytes of a number, and of the fields before a header: its checksum and its length.
    private static let (maximumNumberByteCount, prefixByteCount) = (10, 4 + 10)
    private static let (fileKind, endKind, encryptionRecord) = (UInt64(2), UInt64(5), UInt64(1))
    /// The header flags for data that begins or continues in another volume.
    private static let splitFlags: UInt64 = 0x18
    /// The flags in a file header.
    private static let (timeFlag, checksumFlag) = (UInt64(2), UInt64(4))

    private let scanner: ArchiveScanner
    private var byteOffset: Int64
    /// The offset after the last header, which marks the end; nil before it is read.
    private(set) var endOffset: Int64?

    /// Returns nil for a RAR of another version.
    init?(_ base: any BlobInputStreamDataSource, _ context: BlobContext) throws(BlobError) {
        self.scanner = try ArchiveScanner(base, context)
        self.byteOffset = Int64(Self.signature.count)
        guard try self.scanner.bytes(at: 0, count: Self.signature.count).elementsEqual(Self.signature) else {
            return nil
        }
    }

    /// Returns the facts about the next member; nil after the last member, or at an invalid header.
    mutating func next() throws(BlobError) -> File? {
        while true {
            let prefix = try self.scanner.bytes(at: self.byteOffset, count: Self.prefixByteCount)
            var start = prefix.dropFirst(4)
            guard let count = start.popVarint(upTo: Self.maximumNumberByteCount),
                count < UInt64(ArchiveScanner.bufferByteCount)
            else { return nil }
            let headerOffset = self.byteOffset + Int64(start.startIndex)
            let bytes = try self.scanner.bytes(at: headerOffset, count: Int(count))
            var header = bytes[...]
            guard bytes.count == Int(count), let kind = header.popVarint(upTo: Self.maximumNumberByteCount),
                let flags = header.popVarint(upTo: Self.maximumNumberByteCount)
            else {
                return nil
            }
            if kind == Self.endKind { self.endOffset = headerOffset + Int64(count) }
            guard kind != Self.endKind,
                let extraCount = flags & 1 == 0 ? 0 : header.popVarint(upTo: Self.maximumNumberByteCount),
                let dataCount = flags & 2 == 0 ? 0 : header.popVarint(upTo: Self.maximumNumberByteCount),
                extraCount <= UInt64(header.count),
                case let end = (headerOffset + Int64(count)).addingReportingOverflow(Int64(clamping: dataCount)),
                !end.overflow
            else { return nil }
            self.byteOffset = end.partialValue
            guard kind == Self.fileKind else { continue }
            return File(
                isEncrypted: Self.areEncrypted(header.suffix(Int(extraCount))),
                checksum: flags & Self.splitFlags == 0 ? Self.checksum(header) : nil)
        }
    }

    /// Returns true if one of the records of a file is the encryption record.
    private static func areEncrypted(_ records: Slice<UnsafeRawBufferPointer>) -> Bool {
        var rest = records
        while let count = rest.popVarint(upTo: Self.maximumNumberByteCount), count <= UInt64(rest.count) {
            var record = rest.prefix(Int(count))
            if record.popVarint(upTo: Self.maximumNumberByteCount) == Self.encryptionRecord { return true }
            rest = rest.dropFirst(Int(count))
        }
        return false
    }

    /// Returns the checksum from the fields of a file, where it follows the flags, length, attributes and time.
    private static func checksum(_ fields: Slice<UnsafeRawBufferPointer>) -> UInt32? {
        var rest = fields
        guard let flags = rest.popVarint(upTo: Self.maximumNumberByteCount), flags & Self.checksumFlag != 0,
            rest.popVarint(upTo: Self.maximumNumberByteCount) != nil,
            rest.popVarint(upTo: Self.maximumNumberByteCount) != nil
        else { return nil }
        let bytes = rest.dropFirst(flags & Self.timeFlag == 0 ? 0 : 4).prefix(4)
        return bytes.count == 4 ? UInt32(bytes.littleEndian) : nil
    }
}
