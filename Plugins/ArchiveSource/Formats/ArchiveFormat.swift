import BlobStreams
import CArchive

/// The formats of archives that are read; no other one is ever tried, and those of ``foreign`` only when asked for.
public enum ArchiveFormat: String, CaseIterable, Sendable {
    /// v7, ustar, pax and GNU tar, sparse files included.
    case tar
    /// Zip, with zip64.
    case zip
    /// 7z.
    case sevenzip
    /// The binary, portable and new formats of cpio.
    case cpio
    /// The archives of `ar`, GNU and BSD.
    case ar

    /// ISO 9660, with Rock Ridge and Joliet.
    case iso
    /// RAR, up to version 5.
    case rar
    /// Cabinets of Windows.
    case cab
    /// xar, the packages of macOS.
    case xar
    /// LHA and LZH.
    case lha
    /// WARC, archives of the web.
    case warc

    /// Formats whose readers in libarchive were seen to crash or to loop on damaged archives.
    ///
    /// They are known to a registry only when it was told, and are read on a thread of their own, which is left to
    /// itself when the job is over before the library is: see ``BlobProvider/archives(allowing:)``.
    public static let foreign: Set<ArchiveFormat> = [.iso, .rar, .cab, .xar, .lha, .warc]

    var isForeign: Bool { Self.foreign.contains(self) }

    /// The table of contents is at the end: nothing is found without going there.
    var needsRandomAccess: Bool {
        switch self {
        case .zip, .sevenzip: true
        case .tar, .cpio, .ar, .iso, .rar, .cab, .xar, .lha, .warc: false
        }
    }

    /// Whether the format has checksums of the bytes in members.
    var hasChecksums: Bool {
        switch self {
        case .zip, .sevenzip, .rar, .cab, .xar, .lha: true
        case .tar, .cpio, .ar, .iso, .warc: false
        }
    }

    /// Members must be read and not skipped on the way to one that is read.
    ///
    /// Skipping decodes them anyway, and before version 3.7.5 libarchive takes a decoder that was skipped to a multiple
    /// of 64 KiB for the end of the archive (its issue 2106).
    var mustNotSkip: Bool { self == .sevenzip }

    /// Once a member was read, libarchive finds none behind it: it goes over the bytes of the record a second time.
    var endsWithData: Bool { self == .warc }

    /// A walker through an archive of this format.
    func walker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        if self == .tar { return try TarWalker(over: base, context) }
        if self.isForeign { return try ForeignWalker(self, over: base, context) }
        return try ArchiveWalker(self, over: base, context)
    }

    /// A walker through the headers of an archive of this format, when no bytes of members are wanted.
    func headerWalker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        if self.mustNotSkip { return try HeaderWalker(self, over: base, context) }
        return try self.walker(over: base, context)
    }

    /// Allows this format alone to the library.
    ///
    /// Of zip, the library sees single members, whose local headers agreed with the central directory.
    func enable(_ archive: OpaquePointer) -> CInt {
        switch self {
        case .tar: blob_archive_read_support_format_tar(archive)
        case .zip: blob_archive_read_support_format_zip_streamable(archive)
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
