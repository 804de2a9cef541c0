import BlobCore
import GzipSource

/// A walker over consecutive cpio archives, as in the initramfs of a Linux kernel: zeros may precede each archive, and
/// the last archive may be compressed (Documentation/driver-api/early-userspace/buffer-format.rst).
///
/// The members of all archives have consecutive indices. Hard links stay within an archive.
final class CpioWalker: WalkerLayer {
    /// The number of bytes that are examined for a signature.
    private static let signatureByteCount = 8

    private let source: any BlobInputStreamDataSource
    private let context: BlobContext
    /// True for archives in a compressed stream, which must not contain a further compressed stream.
    private let isCompressed: Bool
    private let hasRandomAccess: Bool
    /// The reader of the base. With random access, needed only between two archives.
    private var scanner: ArchiveScanner?
    /// The current archive, or the archives in a compressed stream.
    private(set) var base: any MemberWalker
    private var currentOffset: Int64 = 0
    /// The number of members in the archives before the current one.
    private var precedingCount = 0
    private var isAtEnd = false

    let baseInfo: BlobInfo

    init(
        over base: any BlobInputStreamDataSource, _ context: BlobContext, isCompressed: Bool = false
    ) throws(BlobError) {
        self.source = base
        self.context = context
        self.isCompressed = isCompressed
        if base.traits.contains(.repeatable), case let info = try base.info(context.blocking), info.isRandomAccess,
            info.byteCount != nil
        {
            self.hasRandomAccess = true
            let archive = try ArchiveWalker(.cpio, over: base, context)
            (self.base, self.baseInfo) = (archive, archive.baseInfo)
        } else {
            self.hasRandomAccess = false
            let scanner = try ArchiveScanner(base, context)
            (self.scanner, self.baseInfo) = (scanner, scanner.info)
            self.base = try ArchiveWalker(.cpio, over: scanner.source(from: 0), context)
        }
    }

    /// Also true within a compressed archive, because its checks run at its end.
    var isSequential: Bool { !self.hasRandomAccess || self.base is CpioWalker }
    var index: Int { self.base.index < 0 ? self.precedingCount - 1 : self.precedingCount + self.base.index }

    var entry: ArchiveEntry {
        var entry = self.base.entry
        entry.member.index += self.precedingCount
        return entry
    }

    func advance() throws(BlobError) -> Bool {
        while !self.isAtEnd {
            if try self.base.advance() { return true }
            self.precedingCount += self.base.index + 1
            if let next = try self.nextArchive() { self.base = next } else { self.isAtEnd = true }
        }
        return false
    }

    func finish() throws(BlobError) {
        if !self.hasRandomAccess { try self.scanner?.drain() }
    }

    /// Returns a walker over the archive after the current one; nil if only zeros follow.
    ///
    /// - Throws: ``BlobError/Code/trailingData`` if other data follows.
    private func nextArchive() throws(BlobError) -> (any MemberWalker)? {
        guard let archive = self.base as? ArchiveWalker else {
            // Only zeros may follow the compressed stream, which its decoder checks.
            try self.base.finish()
            return nil
        }
        let scanner = if let scanner { scanner } else { try ArchiveScanner(self.source, self.context) }
        self.scanner = scanner
        let end = self.currentOffset + archive.consumedByteCount
        guard let start = try scanner.firstNonzero(from: end, self.context) else { return nil }
        let beginning = Array(try scanner.bytes(at: start, count: Self.signatureByteCount))
        let rest = self.hasRandomAccess ? self.source.slice(start...) : scanner.source(from: start)
        if ArchiveFormat.cpio.signatures.contains(where: { beginning.starts(with: $0.bytes) }) {
            self.currentOffset = start
            return try ArchiveWalker(.cpio, over: rest, self.context)
        }
        guard !self.isCompressed, let content = Self.content(of: rest, beginning) else {
            throw BlobError(trailingDataAfter: .cpio, at: start)
        }
        return try CpioWalker(over: content, self.context, isCompressed: true)
    }

    /// Returns the content of a compressed stream; nil for an unknown format.
    private static func content(
        of stream: any BlobInputStreamDataSource, _ beginning: [UInt8]
    ) -> (any BlobInputStreamDataSource)? {
        if beginning.starts(with: [0x1F, 0x8B]) { return GzipSource(stream) }
        let format = CompressionFormat.allCases.first { $0.matches(beginning) == true }
        return format.map { DecompressedSource(stream, format: $0) }
    }
}

extension ArchiveScanner {
    /// Returns a source of the bytes from an offset on, which can be read once, and only by the owner of this scanner.
    fileprivate func source(from byteOffset: Int64) -> any BlobInputStreamDataSource {
        var info = self.info
        info.isRandomAccess = false
        info.byteCount = info.byteCount.map { max(0, $0 - byteOffset) }
        let scanner = UnsafeTransfer(self)  // Safe: the walker that owns the scanner reads the source, too.
        return SequentialSource(info: info) { [info] _ in
            .stream(ScannedStream(scanner.value, from: byteOffset, info: info), startingAt: 0)
        }
    }
}

/// A stream of the bytes that a scanner reads.
private final class ScannedStream: BlobByteStream {
    let info: BlobInfo?
    private let scanner: ArchiveScanner
    private let startOffset: Int64

    init(_ scanner: ArchiveScanner, from byteOffset: Int64, info: BlobInfo) {
        (self.scanner, self.startOffset, self.info) = (scanner, byteOffset, info)
    }

    func read(at byteOffset: Int64, into output: inout OutputRawSpan) throws -> BlobReadResult {
        let bytes = try self.scanner.availableBytes(
            at: self.startOffset + byteOffset, atMost: Int64(output.freeCapacity))
        output.append(contentsOf: bytes)
        return bytes.isEmpty ? .end : .bytes
    }
}
