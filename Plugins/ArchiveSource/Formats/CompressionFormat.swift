import CArchive

/// The formats of compressed streams that libarchive decodes.
public enum CompressionFormat: String, CaseIterable, Sendable {
    /// bzip2; checked by its CRCs.
    case bzip2
    /// xz; checked by the kind of check that its header names, usually a CRC-64.
    case xz
    /// The older LZMA format, `.lzma`; has no checksum.
    case lzma
    /// Zstandard (RFC 8878); has a checksum only if the writer added one.
    case zstd
    /// The LZ4 frame format; checked by the checksums that its header names.
    case lz4
    /// lzip; checked by its CRC and sizes.
    case lzip
    /// The format of `compress`, `.Z`; has neither checksum nor length, so that a truncated stream looks complete.
    case compress

    /// Enables one decoder of this format in libarchive, and no detection of formats around it or within it.
    func enable(_ archive: OpaquePointer) -> CInt {
        switch self {
        case .bzip2: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_BZIP2)
        case .xz: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_XZ)
        case .lzma: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_LZMA)
        case .zstd: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_ZSTD)
        case .lz4: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_LZ4)
        case .lzip: blob_archive_read_append_filter(archive, ARCHIVE_FILTER_LZIP)
        // An appended decoder of this format would start without input; one found by its signature does not.
        case .compress: blob_archive_read_support_filter_compress(archive)
        }
    }

    /// The bytes that libarchive is given after the end, to find out whether it gets there.
    ///
    /// After LZ4, libarchive consumes the next four bytes, whatever they are, before it reports the end. So a skippable
    /// frame follows (lz4_Frame_format.md, "Skippable Frames"), which is consumed as a whole if nothing is in between.
    /// It has no four zeros in a row, which would end a truncated frame.
    var probe: [UInt8] {
        self == .lz4 ? [0x50, 0x2A, 0x4D, 0x18, 4, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF] : []
    }
}
