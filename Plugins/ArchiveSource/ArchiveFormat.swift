import BlobStreams
import CArchive

/// The formats of archives that are read; no other one is ever tried.
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

    /// The table of contents is at the end: nothing is found without going there.
    var needsRandomAccess: Bool {
        switch self {
        case .zip, .sevenzip: true
        case .tar, .cpio, .ar: false
        }
    }

    /// Whether the format has checksums of the bytes in members.
    var hasChecksums: Bool {
        switch self {
        case .zip, .sevenzip: true
        case .tar, .cpio, .ar: false
        }
    }

    /// Members must be read and not skipped on the way to others.
    ///
    /// Skipping decodes them anyway, and before version 3.7.5 libarchive takes a decoder that was skipped to a multiple
    /// of 64 KiB for the end of the archive (its issue 2106).
    var mustNotSkip: Bool { self == .sevenzip }

    /// What goes through an archive of this format.
    func walker(
        over base: any BlobInputStreamDataSource, _ context: BlobContext
    ) throws(BlobError) -> any MemberWalker {
        self == .tar ? try TarWalker(over: base, context) : try ArchiveWalker(self, over: base, context)
    }

    /// Allows this format alone to the library.
    ///
    /// Of zip, the library sees single members, whose local headers agreed with the central directory.
    func enable(_ archive: OpaquePointer) -> CInt {
        switch self {
        case .tar: archive_read_support_format_tar(archive)
        case .zip: archive_read_support_format_zip_streamable(archive)
        case .sevenzip: archive_read_support_format_7zip(archive)
        case .cpio: archive_read_support_format_cpio(archive)
        case .ar: archive_read_support_format_ar(archive)
        }
    }
}
