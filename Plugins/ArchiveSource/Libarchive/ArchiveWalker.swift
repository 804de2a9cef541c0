import BlobCore
import BlobPlatform
import CArchive
import HelperExchange

/// A walker over an archive that libarchive reads.
final class ArchiveWalker: EntryWalker {
    private let handle: ArchiveHandle
    private let format: ArchiveFormat
    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private(set) var current: ArchiveEntry?
    /// The offset in the member after the last returned byte.
    private var dataEnd: Int64 = 0
    /// The number of bytes returned from all members.
    private var decodedByteCount: Int64 = 0
    /// The verifier of the sum of the bytes; nil if the header contains no sum.
    private var sum: CpioSum?

    let baseInfo: BlobInfo
    let isSequential: Bool

    /// - Parameter password: The password of encrypted members, which must not be empty; nil without a password.
    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext,
        password: String? = nil
    ) throws(BlobError) {
        let (source, isInOrder) = format.sourceInOrder(base)
        let input = try ArchiveInput(source, context, format: format.rawValue)
        self.source = source
        self.baseInfo = input.info
        self.isSequential = isInOrder || !input.hasRandomAccess
        self.format = format
        self.context = context
        if format == .cpio { input.keep(from: 0, count: CpioSum.headerByteCount) }
        do throws(BlobError) {
            self.handle = try ArchiveHandle(input, label: "\(format.rawValue) archive") { archive in
                let status = enableFormat(format.rawValue, in: archive)
                return password.map { min(status, blob_archive_read_add_passphrase(archive, $0)) } ?? status
            }
        } catch {
            input.close()
            throw error
        }
    }

    var check: String? { self.sum == nil ? self.format.memberChecksum : "sum" }

    func advance() throws(BlobError) -> Bool {
        try self.context.check()
        if self.format == .cpio, self.current != nil { try self.keepHeader() }
        var entry: OpaquePointer?
        let status = try self.handle.call(toleratingWarnings: true) { blob_archive_read_next_header($0, &entry) }
        guard status != ARCHIVE_EOF, let entry else {
            if let error = self.current?.incompletenessError { throw error }
            try self.checkEnd()
            return false
        }
        let warning = status == ARCHIVE_WARN ? self.handle.message ?? "libarchive gave no reason" : nil
        self.dataEnd = 0
        self.sum = self.format == .cpio ? CpioSum(header: self.handle.input.keptBytes) : nil
        // Copying converts the names, which requires the UTF-8 locale that `ask` sets.
        let facts = self.handle.ask { _ in ExchangedEntry(entry, warning: warning.map { Array($0.utf8) }) }
        self.current = ArchiveEntry(facts, after: self.current)
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.handle.input.checkRatio(ofDecoded: self.decodedByteCount)
        while let (bytes, byteOffset) = try self.handle.nextBlock() {
            guard bytes.isEmpty else {
                self.dataEnd = byteOffset &+ Int64(bytes.count)
                self.decodedByteCount += Int64(bytes.count)
                self.sum?.update(bytes)
                return (bytes, byteOffset)
            }
            try self.context.check()
        }
        try self.checkSum()
        // The offset from libarchive includes the line ends after a WARC record and the bytes of earlier members in a
        // xar, and is unset in a RAR 5.
        return self.end(at: self.dataEnd)
    }

    /// The number of bytes that libarchive consumed; at the end of the archive, the offset of the data after it.
    var consumedByteCount: Int64 { max(0, self.handle.ask { blob_archive_filter_bytes($0, 0) }) }

    /// Checks that only zeros, as left by tapes and disks, follow the end of the archive.
    private func checkEnd() throws(BlobError) {
        guard self.format.endsWithMark, !self.source.followsProgram else { return }
        let (input, end) = (self.handle.input, self.consumedByteCount)
        var rest = ArchiveInput.TrailingBytes()
        input.lastSuppliedBytes(input.suppliedByteCount - end)?.withUnsafeBytes { rest.append($0) }
        let more = try input.drain()
        guard rest.areZeros, more.areZeros else { throw BlobError(trailingDataAfter: self.format, at: end) }
    }

    /// Keeps a copy of the next header, because libarchive does not expose all its fields.
    private func keepHeader() throws(BlobError) {
        try self.handle.call(toleratingWarnings: true) { blob_archive_read_data_skip($0) }
        let byteOffset = self.handle.ask { blob_archive_filter_bytes($0, 0) }
        self.handle.input.keep(from: max(0, byteOffset), count: CpioSum.headerByteCount)
    }

    private func checkSum() throws(BlobError) {
        guard let sum, sum.value != sum.expectedSum else { return }
        throw BlobError(
            .checksumMismatch,
            "The checksum of the member's bytes is \(sum.value), but its header says \(sum.expectedSum).",
            byteOffset: self.dataEnd)
    }

    /// Closes the base until it is read again. Must not be called if ``isSequential`` is true.
    func releaseBase() { self.handle.input.release() }

    func finish() throws(BlobError) {
        if !self.handle.input.hasRandomAccess { try self.handle.input.drain() }
    }
}

extension ArchiveFormat {
    /// Returns the source from which an archive of this format is read.
    ///
    /// `isInOrder` is true if the source has random access but the members are read in order, as for a xar, whose bytes
    /// may be in any order.
    func sourceInOrder(
        _ base: any BlobInputStreamDataSource
    ) -> (source: any BlobInputStreamDataSource, isInOrder: Bool) {
        guard self == .xar, let inOrder = base as? InOrderSource else { return (base, false) }
        return (inOrder.underlying, true)
    }
}

extension ArchiveEntry {
    /// Creates an entry from a header that libarchive read.
    ///
    /// - Parameter previous: The preceding entry; nil for the first entry.
    init(_ entry: ExchangedEntry, after previous: ArchiveEntry?) {
        let index = previous.map { $0.member.index + 1 } ?? 0
        let warning = entry.facts.contains(.warning) ? String(decoding: entry.warning, as: UTF8.self) : nil
        let kind: BlobMember.Kind =
            entry.facts.contains(.hardLink) ? .hardLink : BlobMember.Kind(mode: entry.mode)
        let isSized = entry.facts.contains(.byteCount) && (kind == .file || kind == .hardLink)
        let isLink = !entry.facts.isDisjoint(with: [.hardLink, .symbolicLink])
        let member = BlobMember(
            index: index, name: entry.name, kind: kind,
            specialKind: kind == .special ? BlobMember.SpecialKind(mode: UInt32(entry.mode)) : nil,
            byteCount: isSized ? max(0, entry.byteCount) : nil,
            modificationTime: entry.facts.contains(.time)
                ? Date(seconds: entry.seconds, nanoseconds: entry.nanoseconds) : nil,
            permissions: UInt16(entry.mode & 0o7777), linkTarget: isLink ? entry.target : nil,
            isEncrypted: entry.facts.contains(.isEncrypted))
        self.init(member: member, warning: warning, linkCount: entry.linkCount)
        self.incompletenessError = previous?.incompletenessError
        if self.incompletenessError == nil, let warning, warning.containsText("kipped") {
            self.incompletenessError = BlobError(
                .corrupted, "The archive is damaged before member \(index): \(warning.trimmingSuffix(".")).")
        }
    }
}

/// A verifier of the sum of a cpio member.
///
/// In the format `070702`, the header contains the sum of the member's bytes modulo 2^32 (cpio of SVR4, "crc").
struct CpioSum {
    /// The length of a header without the name, in bytes.
    static let headerByteCount: Int64 = 110

    private static let magic = Array("070702".utf8)
    /// The fields of the length and of the sum of the bytes: 8 hexadecimal digits each.
    private static let (byteCountField, sumField) = (54..<62, 102..<110)

    let expectedSum: UInt32
    private(set) var value: UInt32 = 0

    /// - Returns: Nil if the header has another format, or the member has no bytes. Of several names for a file, only
    ///   the last has bytes.
    init?(header: [UInt8]) {
        guard header.count == Self.headerByteCount, header.starts(with: Self.magic),
            let byteCount = UInt32(String(decoding: header[Self.byteCountField], as: UTF8.self), radix: 16),
            let sum = UInt32(String(decoding: header[Self.sumField], as: UTF8.self), radix: 16), byteCount > 0
        else { return nil }
        self.expectedSum = sum
    }

    mutating func update(_ bytes: UnsafeRawBufferPointer) {
        for byte in bytes { self.value &+= UInt32(byte) }
    }
}
