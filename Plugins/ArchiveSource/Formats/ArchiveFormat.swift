import BlobCore

/// The supported archive formats; no other format is attempted.
public enum ArchiveFormat: String, CaseIterable, Sendable {
    /// Tar in the v7, ustar, pax and GNU formats, including sparse files.
    case tar
    /// Zip, with zip64.
    case zip
    /// 7z.
    case sevenzip
    /// The binary, portable and new formats of cpio, including consecutive archives, as in an initramfs.
    case cpio
    /// The GNU and BSD formats of `ar`.
    case ar

    /// ISO 9660, with Rock Ridge and Joliet.
    case iso
    /// RAR, up to version 5.
    case rar
    /// Windows cabinets.
    case cab
    /// xar, the format of macOS packages; an archive whose members are not in order needs random access.
    case xar
    /// LHA and LZH.
    ///
    /// Names are UTF-8. Names without a declared character set that are not UTF-8 are read as code page 932, which
    /// needs random access.
    case lha
    /// WARC, the format of web archives.
    case warc

    /// The formats whose libarchive readers have crashed or looped on damaged archives.
    ///
    /// A helper process reads these archives; see ``ArchiveIsolation``.
    public static let helperFormats: Set<ArchiveFormat> = [.iso, .rar, .cab, .xar, .lha, .warc]

    package var needsHelper: Bool { Self.helperFormats.contains(self) }

    /// True if the table of contents is at the end, so that finding members needs random access.
    var needsRandomAccess: Bool { self == .zip || self == .sevenzip }

    /// True if a directory in the archive lists the members as fast as a ``MemberTable``.
    var hasDirectory: Bool { self == .zip }

    /// True if libarchive finds no more members once the bytes of a member have been read, because it skips the bytes
    /// of that record twice.
    var endsWithData: Bool { self == .warc }

    /// True if libarchive consumes an archive only up to an end mark or the end of the last member, and ignores data
    /// after it.
    var endsWithMark: Bool { self == .ar || self == .lha }

    /// True if archives of the format may follow a program that must be skipped.
    var isEmbedded: Bool { self == .sevenzip || self == .rar }

    /// True if the format has checksums for members.
    var hasChecksums: Bool { self == .zip || self.memberChecksum != nil }

    /// The name of the member checksum that libarchive verifies; nil for formats without a checksum, and for formats
    /// whose checksums this module verifies.
    var memberChecksum: String? { self.facts.memberChecksum }
    /// The signatures of archives in this format.
    var signatures: [BlobSignature] { self.facts.signatures }
    var mediaTypes: [String] { self.facts.mediaTypes }
    var fileExtensions: [String] { self.facts.fileExtensions }

    /// The facts by which a format is recognised, and its checksum.
    private struct Facts {
        let signatures: [BlobSignature]
        let mediaTypes: [String]
        let fileExtensions: [String]
        var memberChecksum: String?
    }

    private var facts: Facts {
        switch self {
        // POSIX.1-1988 and GNU tar. A v7 tar has no signature; see `isTarHeader`.
        case .tar:
            Facts(
                signatures: [BlobSignature(Array("ustar".utf8), at: 257)], mediaTypes: ["application/x-tar"],
                fileExtensions: ["tar"])
        // APPNOTE.TXT 4.3.7 and, for an empty archive, 4.3.16; 8.5.3 for an archive that was meant to be split.
        case .zip:
            Facts(
                signatures: [
                    BlobSignature([0x50, 0x4B, 0x03, 0x04]), BlobSignature([0x50, 0x4B, 0x05, 0x06]),
                    BlobSignature([0x50, 0x4B, 0x30, 0x30, 0x50, 0x4B]),
                    BlobSignature([0x50, 0x4B, 0x07, 0x08, 0x50, 0x4B]),
                ], mediaTypes: ["application/zip"],
                fileExtensions: ["zip", "jar", "apk", "epub", "docx", "xlsx", "pptx", "odt", "ods", "odp", "whl"])
        // 7zFormat.txt, SignatureHeader.
        case .sevenzip:
            Facts(
                signatures: [BlobSignature([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C])],
                mediaTypes: ["application/x-7z-compressed"], fileExtensions: ["7z"], memberChecksum: "CRC-32")
        // cpio(5): new, with checksums, portable; the binary format begins with 0o070707 in either byte order.
        case .cpio:
            Facts(
                signatures: ["070701", "070702", "070707"].map { BlobSignature(Array($0.utf8)) }
                    + [BlobSignature([0xC7, 0x71]), BlobSignature([0x71, 0xC7])],
                mediaTypes: ["application/x-cpio"], fileExtensions: ["cpio"])
        // ar(5).
        case .ar:
            Facts(
                signatures: [BlobSignature(Array("!<arch>\n".utf8))],
                mediaTypes: ["application/x-archive", "application/vnd.debian.binary-package"],
                fileExtensions: ["ar", "a", "deb"])
        // ECMA-119, 8.1: the first volume descriptor, in sector 16 of 2048 bytes.
        case .iso:
            Facts(
                signatures: [BlobSignature(Array("CD001".utf8), at: 16 * 2048 + 1)],
                mediaTypes: ["application/x-iso9660-image"], fileExtensions: ["iso"])
        case .rar:
            Facts(
                signatures: [BlobSignature([0x52, 0x61, 0x72, 0x21, 0x1A, 0x07])],
                mediaTypes: ["application/vnd.rar", "application/x-rar-compressed"], fileExtensions: ["rar"],
                memberChecksum: "CRC-32")
        case .cab:
            Facts(
                signatures: [BlobSignature(Array("MSCF".utf8))], mediaTypes: ["application/vnd.ms-cab-compressed"],
                fileExtensions: ["cab"], memberChecksum: "block checksums")
        case .xar:
            Facts(
                signatures: [BlobSignature(Array("xar!".utf8))], mediaTypes: ["application/x-xar"],
                fileExtensions: ["xar", "pkg"], memberChecksum: "MD5 or SHA-1")
        case .lha:
            Facts(
                signatures: ["-lh", "-lz"].map { BlobSignature(Array($0.utf8), at: 2) },
                mediaTypes: ["application/x-lha", "application/x-lzh-compressed"], fileExtensions: ["lha", "lzh"],
                memberChecksum: "CRC-16")
        case .warc:
            Facts(
                signatures: [BlobSignature(Array("WARC/".utf8))], mediaTypes: ["application/warc"],
                fileExtensions: ["warc"])
        }
    }
}
