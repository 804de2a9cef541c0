internal import BlobBlocks
import BlobCore

/// The checksums that the headers of a compressed stream name, noted while a decoder that does not report them reads it.
final class StreamChecks: Sendable {
    private let names = Locked<Set<String?>>([])

    /// Notes the checksum of a stream or frame; nil for one without.
    func note(_ name: String?) { self.names.withLock { _ = $0.insert(name) } }

    /// The checksums that cover all bytes together; nil when a stream or frame has none.
    var name: String? {
        self.names.withLock {
            $0.isEmpty || $0.contains(nil) ? nil : $0.compactMap(\.self).sorted().joined(separator: ", ")
        }
    }
}

extension CompressionFormat {
    /// The checksum of every stream in the format; nil when the headers name it, or when the format has none.
    private var fixedChecksum: String? {
        switch self {
        case .bzip2, .lzip: "CRC-32"
        case .xz, .zstd, .lz4, .lzma, .compress: nil
        }
    }

    /// Returns an inspector of the compressed bytes, which checks the windows of later streams and notes checksums; nil
    /// when the format needs none.
    ///
    /// - Parameter checks: The receiver of the checksums; nil to note none.
    func inspector(_ checks: StreamChecks?, _ context: BlobContext) -> (any StreamInspector)? {
        if let fixedChecksum { checks?.note(fixedChecksum) }
        return switch self {
        case .xz: XzInspector(context, checks)
        case .lzip: LzipInspector(context)
        // libarchive has the limits of the windows itself.
        case .zstd, .lz4: checks.map { FrameInspector(self, $0) }
        case .bzip2, .lzma, .compress: nil
        }
    }
}

/// An inspector of the frames of Zstandard (RFC 8878, section 3.1) and LZ4 (lz4_Frame_format.md), which notes whether
/// they have a checksum. Looks at headers only; all else is passed over by its length.
struct FrameInspector: StreamInspector {
    private enum Part { case frame, block, foreign }

    private let format: CompressionFormat
    private let checks: StreamChecks
    private var part = Part.frame
    private var collected: [UInt8] = []
    /// The number of bytes to pass over before more are collected.
    private var skippedCount: UInt64 = 0
    /// The number of bytes behind each block, and behind the last one.
    private var (blockSumByteCount, endByteCount): (UInt64, UInt64) = (0, 0)

    init(_ format: CompressionFormat, _ checks: StreamChecks) { (self.format, self.checks) = (format, checks) }

    mutating func inspect(_ bytes: UnsafeRawBufferPointer) {
        var rest = bytes[...]
        while !rest.isEmpty, self.part != .foreign {
            let skipped = min(self.skippedCount, UInt64(rest.count))
            self.skippedCount -= skipped
            rest = rest.dropFirst(Int(skipped))
            guard let byte = rest.popFirst() else { return }
            self.collected.append(byte)
            let isTaken = self.part == .frame ? self.takeHeader() : self.takeBlock()
            if isTaken { self.collected.removeAll(keepingCapacity: true) }
        }
    }

    private func number(_ range: Range<Int>) -> UInt64 { CompressionFormat.number(self.collected[range]) }

    /// Takes the header of a frame once it is whole; returns false before.
    private mutating func takeHeader() -> Bool {
        guard self.collected.count >= 5 else { return false }
        let magic = self.number(0..<4)
        if magic & ~0xF == 0x184D_2A50 {
            guard self.collected.count == 8 else { return false }
            self.skippedCount = self.number(4..<8)
            return true
        }
        let flags = self.collected[4]
        switch (self.format, magic) {
        case (.zstd, 0xFD2F_B528):
            let isSingle = flags & 0x20 != 0
            let sizeCount = [isSingle ? 1 : 0, 2, 4, 8][Int(flags >> 6)]
            let count = (isSingle ? 5 : 6) + [0, 1, 2, 4][Int(flags & 3)] + sizeCount
            guard self.collected.count >= count else { return false }
            (self.blockSumByteCount, self.endByteCount) = (0, flags & 4 != 0 ? 4 : 0)
            self.checks.note(flags & 4 != 0 ? "XXH64" : nil)
        case (.lz4, 0x184D_2204):
            guard self.collected.count >= 7 + (flags & 8 != 0 ? 8 : 0) + (flags & 1 != 0 ? 4 : 0) else { return false }
            (self.blockSumByteCount, self.endByteCount) = (flags & 0x10 != 0 ? 4 : 0, flags & 4 != 0 ? 4 : 0)
            self.checks.note(flags & 0x14 != 0 ? "XXH32" : nil)
        default:
            // A legacy frame of LZ4 has no checksum; zeros may follow the last frame.
            if magic != 0 { self.checks.note(nil) }
            self.part = .foreign
            return true
        }
        self.part = .block
        return true
    }

    /// Takes the header of a block once it is whole; returns false before.
    private mutating func takeBlock() -> Bool {
        guard self.collected.count == (self.format == .zstd ? 3 : 4) else { return false }
        let header = self.number(0..<self.collected.count)
        let isLast = self.format == .zstd ? header & 1 == 1 : header == 0
        let length =
            switch self.format {
            case .zstd: header >> 1 & 3 == 1 ? 1 : header >> 3
            default: header & 0x7FFF_FFFF
            }
        self.skippedCount = isLast && self.format == .lz4 ? 0 : length + self.blockSumByteCount
        guard isLast else { return true }
        self.skippedCount += self.endByteCount
        self.part = .frame
        return true
    }
}
