internal import BlobBlocks
import BlobCore
import CArchive

/// The formats of compressed streams that libarchive decodes.
public enum CompressionFormat: String, CaseIterable, Sendable {
    /// bzip2; verified by its CRCs.
    case bzip2
    /// xz; verified by the check that its header declares, usually a CRC-64.
    case xz
    /// The older LZMA format, `.lzma`; has no checksum.
    case lzma
    /// Zstandard (RFC 8878); has a checksum only if the writer added one.
    case zstd
    /// The LZ4 frame format; verified by the checksums that its header declares.
    case lz4
    /// lzip; verified by its CRC and sizes.
    case lzip
    /// The format of `compress`, `.Z`; has neither a checksum nor a length, so that a truncated stream looks complete.
    case compress

    /// Enables one decoder for this format in libarchive, without detection of other layers.
    func enable(_ archive: OpaquePointer) -> CInt {
        // A decoder of compress that is appended explicitly would start without input; a decoder chosen by its
        // signature does not.
        self == .compress
            ? blob_archive_read_support_filter_compress(archive)
            : blob_archive_read_append_filter(archive, self.facts.filter)
    }

    /// The bytes passed to libarchive after the end of the base, to determine whether libarchive reaches the end.
    ///
    /// After LZ4, libarchive consumes the next four bytes, regardless of their values, before it reports the end. The
    /// probe is therefore a skippable frame (lz4_Frame_format.md, "Skippable Frames"), which is consumed as a whole if
    /// nothing comes before it. It contains no four consecutive zeros, which would end a truncated frame.
    var probe: [UInt8] {
        self == .lz4 ? [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF] : []
    }

    /// The signatures of streams in this format.
    var signatures: [BlobSignature] { self.facts.signatures.map { BlobSignature($0) } }
    var mediaTypes: [String] { self.facts.mediaTypes }
    /// The file extensions, each with its replacement in the name of the content.
    var fileExtensions: [(suffix: String, replacement: String)] { self.facts.fileExtensions }

    /// The facts by which a format is recognised, and its decoder.
    private struct Facts {
        /// The number of the filter in libarchive.
        let filter: CInt
        let signatures: [[UInt8]]
        let mediaTypes: [String]
        let fileExtensions: [(suffix: String, replacement: String)]
    }

    private var facts: Facts {
        switch self {
        case .bzip2:
            Facts(
                filter: ARCHIVE_FILTER_BZIP2, signatures: [Array("BZh".utf8)], mediaTypes: ["application/x-bzip2"],
                fileExtensions: [("bz2", ""), ("tbz2", ".tar"), ("tbz", ".tar")])
        // The .xz File Format, 2.1.1.1.
        case .xz:
            Facts(
                filter: ARCHIVE_FILTER_XZ, signatures: [[0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00]],
                mediaTypes: ["application/x-xz"],
                fileExtensions: [("xz", ""), ("txz", ".tar")])
        // lzma-file-format.txt defines no signature; these bytes are lc=3 lp=0 pb=2 and a window that is a multiple of
        // 64 KiB, as all writers use.
        case .lzma:
            Facts(
                filter: ARCHIVE_FILTER_LZMA, signatures: [[0x5D, 0x00, 0x00]], mediaTypes: ["application/x-lzma"],
                fileExtensions: [("lzma", ""), ("tlz", ".tar")])
        // RFC 8878, section 3.1.1; see also `matches(_:)`.
        case .zstd:
            Facts(
                filter: ARCHIVE_FILTER_ZSTD, signatures: [[0x28, 0xB5, 0x2F, 0xFD]], mediaTypes: ["application/zstd"],
                fileExtensions: [("zst", ""), ("tzst", ".tar")])
        // lz4_Frame_format.md; the second signature is the legacy frame.
        case .lz4:
            Facts(
                filter: ARCHIVE_FILTER_LZ4, signatures: [[0x04, 0x22, 0x4D, 0x18], [0x02, 0x21, 0x4C, 0x18]],
                mediaTypes: ["application/x-lz4"],
                fileExtensions: [("lz4", "")])
        case .lzip:
            Facts(
                filter: ARCHIVE_FILTER_LZIP, signatures: [Array("LZIP".utf8)],
                mediaTypes: ["application/x-lzip", "application/lzip"],
                fileExtensions: [("lz", "")])
        case .compress:
            Facts(
                filter: ARCHIVE_FILTER_COMPRESS, signatures: [[0x1F, 0x9D]], mediaTypes: ["application/x-compress"],
                fileExtensions: [("z", ""), ("taz", ".tar")])
        }
    }

    /// Returns true if a stream of this format begins with these bytes, and nil if only later bytes determine it.
    ///
    /// Both Zstandard and LZ4 data may begin with skippable frames (RFC 8878, section 3.1.2), which have the same form.
    func matches(_ beginning: [UInt8]) -> Bool? {
        var rest = beginning[...]
        while self == .zstd || self == .lz4, let count = ZstdFrame.skippableByteCount(rest) {
            guard count < rest.count else { return nil }
            rest = rest.dropFirst(Int(count))
        }
        return self.facts.signatures.contains { rest.starts(with: $0) }
    }

    /// The number of bytes examined for the window: the headers of an xz and of its first block are the longest.
    static let headerByteCount = 12 + 1024

    /// Returns the window in the first header of a stream, in bytes; nil if the header does not declare it.
    ///
    /// - Parameter beginning: The first ``headerByteCount`` bytes.
    func windowByteCount(_ beginning: [UInt8]) -> UInt64? {
        switch self {
        case .lzma: beginning.count >= 5 ? beginning[1..<5].littleEndian : nil
        case .lzip: beginning.count >= 6 ? Self.lzipWindow(beginning[5]) : nil
        // A first block of length 0 marks the index.
        case .xz: beginning.count > 13 && beginning[12] > 0 ? Self.xzWindow(beginning[13...]) : nil
        case .zstd: ZstdFrame(beginning[...])?.windowByteCount
        case .bzip2, .lz4, .compress: nil
        }
    }

    /// Returns true if a checksum protects the bytes; nil if the first header does not declare it.
    func hasChecksum(_ beginning: [UInt8]) -> Bool? {
        switch self {
        case .bzip2, .lzip: true
        // The .xz File Format, 2.1.1.2: the kind of check, where 0 means none.
        case .xz: beginning.count >= 8 ? beginning[7] & 0x0F != 0 : nil
        // lz4_Frame_format.md: the bits for a checksum of each block and of the content. The legacy frame has none.
        case .lz4: beginning.count >= 5 ? beginning[0] == 0x04 && beginning[4] & 0b10100 != 0 : nil
        case .zstd: ZstdFrame(beginning[...])?.hasChecksum
        case .lzma, .compress: false
        }
    }

    /// Checks the window of a stream against ``BlobContext/memoryLimit``.
    ///
    /// - Throws: ``BlobError/Code/limitExceeded`` if the window is larger.
    func check(windowByteCount: UInt64, _ context: BlobContext) throws(BlobError) {
        try context.checkMemory(windowByteCount, for: "The \(self.rawValue) stream")
    }

    /// Decodes a window: the base-2 logarithm of a size, and the number of sixteenths to subtract from it (lzip manual,
    /// "File format").
    static func lzipWindow(_ coded: UInt8) -> UInt64 {
        let base = UInt64(1) << (coded & 0x1F)
        return base - base / 16 * UInt64(coded >> 5)
    }

    /// Returns the window of a block, which its last filter, LZMA2, declares (The .xz File Format, 3.1 and 5.3.1); nil
    /// if the header declares no window.
    ///
    /// - Parameter header: The header of the block, after its length.
    static func xzWindow(_ header: ArraySlice<UInt8>) -> UInt64? {
        var rest = header
        guard let flags = rest.popFirst() else { return nil }
        for bit in [UInt8(0x40), 0x80] where flags & bit != 0 {
            guard rest.popVarint(upTo: 9) != nil else { return nil }
        }
        for _ in 0...(flags & 3) {
            guard let filter = rest.popVarint(upTo: 9), let count = rest.popVarint(upTo: 9), count <= rest.count else {
                return nil
            }
            if filter == 0x21, let bits = rest.first { return Self.lzma2Window(bits) }
            rest = rest.dropFirst(Int(count))
        }
        return nil
    }

    /// Decodes a window: a mantissa of two bits and an exponent (The .xz File Format, 5.3.1).
    static func lzma2Window(_ coded: UInt8) -> UInt64 {
        let bits = UInt64(coded & 0x3F)
        return bits >= 40 ? UInt64(UInt32.max) : (2 | bits & 1) << (bits / 2 + 11)
    }

    /// Returns the name of the content of a file with this name: `a.tar` for `a.tar.xz` and `a.txz`.
    func nameOfContent(_ name: String) -> String {
        let lowercased = name.lowercased()
        for (suffix, replacement) in self.fileExtensions where lowercased.hasSuffix(".\(suffix)") {
            return name.dropLast(suffix.count + 1) + replacement
        }
        return name
    }

    /// A closure that recognises a stream that begins with skippable frames; nil for formats without such frames.
    ///
    /// A stream is treated as Zstandard if its first data frame is not among the examined bytes.
    var recognizes: (@Sendable ([UInt8]) -> Bool)? {
        guard self == .zstd || self == .lz4 else { return nil }
        return { self.matches($0) ?? (self == .zstd) }
    }
}
