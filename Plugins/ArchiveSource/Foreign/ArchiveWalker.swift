import BlobCore
import CArchive
import HelperExchange

/// A walker over an archive that libarchive reads.
final class ArchiveWalker: MemberWalker {
    private let handle: ArchiveHandle
    private let format: ArchiveFormat
    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    private var current: ArchiveEntry?
    /// The offset in the member after the last byte that was returned.
    private var dataEnd: Int64 = 0
    /// The number of bytes of all members that were returned.
    private var decodedByteCount: Int64 = 0
    /// The sum of the bytes; nil when the header has none.
    private var sum: CpioSum?

    let baseInfo: BlobInfo
    let isSequential: Bool

    /// - Parameter password: The password of encrypted members, not empty; nil when there is none.
    init(
        _ format: ArchiveFormat, over base: any BlobInputStreamDataSource, _ context: BlobContext,
        password: String? = nil
    ) throws(BlobError) {
        let (source, isInOrder) = format.sourceInOrder(base)
        let input = try ArchiveInput(source, context)
        self.source = source
        self.baseInfo = input.info
        self.isSequential = isInOrder || !input.hasRandomAccess
        self.format = format
        self.context = context
        if format == .cpio { input.keep(from: 0, count: CpioSum.headerByteCount) }
        do throws(BlobError) {
            self.handle = try ArchiveHandle(input, label: "\(format.rawValue) archive") { archive in
                let status = format.enable(archive)
                return password.map { min(status, blob_archive_read_add_passphrase(archive, $0)) } ?? status
            }
        } catch {
            input.close()
            throw error
        }
    }

    var index: Int { self.current?.member.index ?? -1 }
    var place: Int64? { nil }
    var check: String? { self.sum == nil ? self.format.memberChecksum : "sum" }
    func go(to place: Int64, index: Int) { preconditionFailure("This walker has no places.") }
    func isNamed(_ name: [UInt8]) -> Bool { self.current?.member.name == name }

    var entry: ArchiveEntry {
        guard let current else { preconditionFailure("There is no current member yet.") }
        return current
    }

    func advance() throws(BlobError) -> Bool {
        try self.context.check()
        if self.format == .cpio, self.current != nil { try self.keepHeader() }
        var entry: OpaquePointer?
        let status = try self.handle.call(toleratingWarnings: true) { blob_archive_read_next_header($0, &entry) }
        guard status != ARCHIVE_EOF, let entry else {
            if let gap = self.current?.gap { throw gap }
            try self.checkEnd()
            return false
        }
        let warning = status == ARCHIVE_WARN ? self.handle.message ?? "a warning without a reason" : nil
        self.dataEnd = 0
        self.sum = self.format == .cpio ? CpioSum(header: self.handle.input.kept) : nil
        // Names are converted while they are copied.
        let facts = self.handle.ask { _ in ExchangedEntry(entry, warning: warning.map { Array($0.utf8) }) }
        self.current = ArchiveEntry(facts, after: self.current)
        return true
    }

    func nextBlock() throws(BlobError) -> (bytes: UnsafeRawBufferPointer, byteOffset: Int64) {
        try self.handle.input.checkRatio(ofDecoded: self.decodedByteCount)
        while true {
            var start: UnsafeRawPointer?
            var count = 0
            var byteOffset: Int64 = 0
            let status = try self.handle.call { blob_archive_read_data_block($0, &start, &count, &byteOffset) }
            if status == ARCHIVE_EOF {
                try self.checkSum()
                // The offset that libarchive returns counts the line ends after a record of a WARC and the bytes of
                // earlier members of a xar, and in a RAR 5 it is unset.
                return (UnsafeRawBufferPointer(start: nil, count: 0), self.dataEnd)
            }
            if count > 0 {
                self.dataEnd = byteOffset &+ Int64(count)
                self.decodedByteCount += Int64(count)
                let bytes = UnsafeRawBufferPointer(start: start, count: count)
                self.sum?.update(bytes)
                return (bytes, byteOffset)
            }
            try self.context.check()
        }
    }

    /// The number of bytes that libarchive consumed; at the end of the archive, the offset of the data after it.
    var consumedByteCount: Int64 { max(0, self.handle.ask { blob_archive_filter_bytes($0, 0) }) }

    /// Checks that only zeros, as tapes and disks leave, follow the end of the archive.
    private func checkEnd() throws(BlobError) {
        guard self.format.endsWithMark, !self.source.isBehindProgram else { return }
        let (input, end) = (self.handle.input, self.consumedByteCount)
        var rest = ArchiveInput.Rest()
        input.lastGiven(input.givenByteCount - end)?.withUnsafeBytes { rest.append($0) }
        let more = try input.drain()
        guard rest.areZeros, more.areZeros else { throw BlobError(trailingDataAfter: self.format, at: end) }
    }

    /// Keeps the next header, which libarchive does not pass on as a whole.
    private func keepHeader() throws(BlobError) {
        try self.handle.call(toleratingWarnings: true) { blob_archive_read_data_skip($0) }
        let byteOffset = self.handle.ask { blob_archive_filter_bytes($0, 0) }
        self.handle.input.keep(from: max(0, byteOffset), count: CpioSum.headerByteCount)
    }

    private func checkSum() throws(BlobError) {
        guard let sum, sum.value != sum.expected else { return }
        throw BlobError(
            .checksumMismatch,
            "The sum of the bytes of the member is \(sum.value), and its header says \(sum.expected).",
            byteOffset: self.dataEnd)
    }

    /// Closes the base until it is read again. Not to be called when ``isSequential``.
    func releaseBase() { self.handle.input.release() }

    func finish() throws(BlobError) {
        if !self.handle.input.hasRandomAccess { try self.handle.input.drain() }
    }
}
