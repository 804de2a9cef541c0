import BlobCore
import CArchive

/// The supported archive formats. No other format is ever tried.
public enum ArchiveFormat: String, CaseIterable, Sendable {
    /// v7, ustar, pax and GNU tar, sparse files included.
    case tar
    /// Zip, with zip64.
    case zip
    /// 7z.
    case sevenzip
    /// The binary, portable and new formats of cpio, also several archives in a row, as in an initramfs.
    case cpio
    /// The archives of `ar`, GNU and BSD.
    case ar

    /// ISO 9660, with Rock Ridge and Joliet.
    case iso
    /// RAR, up to version 5.
    case rar
    /// Windows cabinets.
    case cab
    /// xar, the format of macOS packages; one whose members are not in order needs random access.
    case xar
    /// LHA and LZH. Names are UTF-8: those in no declared character set that are none are taken for code page 932, which
    /// needs random access.
    case lha
    /// WARC, the format of web archives.
    case warc

    /// The formats whose libarchive readers were seen to crash or loop on damaged archives.
    ///
    /// They are read by a helper process; see ``ArchiveIsolation``.
    public static let foreign: Set<ArchiveFormat> = [.iso, .rar, .cab, .xar, .lha, .warc]

    package var isForeign: Bool { Self.foreign.contains(self) }

    /// True when the table of contents is at the end, so that nothing is found without random access.
    var needsRandomAccess: Bool {
        switch self {
        case .zip, .sevenzip: true
        case .tar, .cpio, .ar, .iso, .rar, .cab, .xar, .lha, .warc: false
        }
    }

    /// True when a directory lists the members as fast as a table of ours.
    var hasDirectory: Bool { self == .zip }

    /// True when the format has checksums of the bytes of members.
    var hasChecksums: Bool {
        switch self {
        case .zip, .sevenzip, .rar, .cab, .xar, .lha: true
        case .tar, .cpio, .ar, .iso, .warc: false
        }
    }

    /// The checksum of members that libarchive verifies; nil for formats without one, and for those whose checksums
    /// this module verifies.
    var memberChecksum: String? {
        switch self {
        case .sevenzip, .rar: "CRC-32"
        case .cab: "checksums of blocks"
        case .xar: "MD5 or SHA-1"
        case .lha: "CRC-16"
        case .tar, .zip, .cpio, .ar, .iso, .warc: nil
        }
    }

    /// True when libarchive finds no member after one that was read, because it skips the bytes of the record twice.
    var endsWithData: Bool { self == .warc }

    /// True when libarchive consumes an archive up to its end, a mark or the end of the last member, whatever follows.
    var endsWithMark: Bool { self == .ar || self == .lha }

    /// Enables this format alone in libarchive.
    ///
    /// For zip, libarchive is given single members whose local headers agreed with the central directory, and leaves
    /// their checksums to this module.
    func enable(_ archive: OpaquePointer) -> CInt {
        switch self {
        case .tar: blob_archive_read_support_format_tar(archive)
        case .zip:
            min(
                blob_archive_read_support_format_zip_streamable(archive),
                blob_archive_read_set_format_option(archive, "zip", "ignorecrc32", "1"))
        case .sevenzip: blob_archive_read_support_format_7zip(archive)
        case .cpio: blob_archive_read_support_format_cpio(archive)
        case .ar: blob_archive_read_support_format_ar(archive)
        case .iso: blob_archive_read_support_format_iso9660(archive)
        case .rar: min(blob_archive_read_support_format_rar(archive), blob_archive_read_support_format_rar5(archive))
        case .cab: blob_archive_read_support_format_cab(archive)
        case .xar: blob_archive_read_support_format_xar(archive)
        case .lha: blob_archive_read_support_format_lha(archive)
        case .warc: blob_archive_read_support_format_warc(archive)
        }
    }
}
