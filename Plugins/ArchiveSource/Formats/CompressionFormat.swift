import CArchive

/// The formats of compressed streams that libarchive decodes.
public enum CompressionFormat: String, CaseIterable, Sendable {
    /// bzip2; checked by its CRCs.
    case bzip2
    /// xz; checked by what its header names, mostly a CRC-64.
    case xz
    /// The older format of LZMA, `.lzma`; has no checksum.
    case lzma
    /// Zstandard (RFC 8878); has a checksum only if the writer wanted one.
    case zstd
    /// The frame format of LZ4; checked by what its header names.
    case lz4
    /// lzip; checked by its CRC and sizes.
    case lzip
    /// `compress`, `.Z`; has neither checksum nor length, so that one that was cut off looks whole.
    case compress

    /// Has the library decode this format, once, without looking for others around or in it.
    func enable(_ archive: OpaquePointer) -> CInt {
        switch self {
        case .bzip2: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_BZIP2)
        case .xz: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_XZ)
        case .lzma: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_LZMA)
        case .zstd: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_ZSTD)
        case .lz4: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_LZ4)
        case .lzip: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_LZIP)
        // Its decoder begins before it has an input, unless it was found by its signature.
        case .compress: blob_archive_read_support_filter_compress(archive)
        }
    }

    /// What is shown to the library behind the end, to see whether it gets there.
    ///
    /// Of LZ4 it takes the next four bytes, whatever they are, before it says that it has reached the end. So that is
    /// followed by a frame to be skipped (lz4_Frame_format.md, "Skippable Frames"), which is taken whole if nothing is
    /// in between. It has no four zeros, which would end a frame that was cut off.
    var probe: [UInt8] {
        self == .lz4 ? [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF] : []
    }
}
