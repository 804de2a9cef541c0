import BlobCore

extension ArchiveFormat {
    /// The signatures of archives in this format.
    var signatures: [BlobSignature] {
        switch self {
        // POSIX.1-1988 and GNU tar; v7 has none: see `TarChecksum`.
        case .tar: [BlobSignature(Array("ustar".utf8), at: 257)]
        // APPNOTE.TXT 4.3.7 and, for an empty archive, 4.3.16; 8.5.3 for one that could have been split.
        case .zip:
            [
                BlobSignature([0x50, 0x4B, 0x03, 0x04]), BlobSignature([0x50, 0x4B, 0x05, 0x06]),
                BlobSignature([0x50, 0x4B, 0x30, 0x30, 0x50, 0x4B]),
                BlobSignature([0x50, 0x4B, 0x07, 0x08, 0x50, 0x4B]),
            ]
        // 7zFormat.txt, SignatureHeader.
        case .sevenzip: [BlobSignature([0x37, 0x7A, 0xBC, 0xAF, 0x27, 0x1C])]
        // cpio(5): new, with checksums, portable; the binary one is the number 0o070707 in either byte order.
        case .cpio:
            ["070701", "070702", "070707"].map { BlobSignature(Array($0.utf8)) }
                + [BlobSignature([0xC7, 0x71]), BlobSignature([0x71, 0xC7])]
        // ar(5).
        case .ar: [BlobSignature(Array("!<arch>\n".utf8))]
        // ECMA-119, 8.1: the first volume descriptor, in sector 16 of 2048 bytes.
        case .iso: [BlobSignature(Array("CD001".utf8), at: 16 * 2048 + 1)]
        case .rar: [BlobSignature([0x52, 0x61, 0x72, 0x21, 0x1A, 0x07])]
        case .cab: [BlobSignature(Array("MSCF".utf8))]
        case .xar: [BlobSignature(Array("xar!".utf8))]
        case .lha: [BlobSignature(Array("-lh".utf8), at: 2), BlobSignature(Array("-lz".utf8), at: 2)]
        case .warc: [BlobSignature(Array("WARC/".utf8))]
        }
    }

    var mediaTypes: [String] {
        switch self {
        case .tar: ["application/x-tar"]
        case .zip: ["application/zip"]
        case .sevenzip: ["application/x-7z-compressed"]
        case .cpio: ["application/x-cpio"]
        case .ar: ["application/x-archive", "application/vnd.debian.binary-package"]
        case .iso: ["application/x-iso9660-image"]
        case .rar: ["application/vnd.rar", "application/x-rar-compressed"]
        case .cab: ["application/vnd.ms-cab-compressed"]
        case .xar: ["application/x-xar"]
        case .lha: ["application/x-lha", "application/x-lzh-compressed"]
        case .warc: ["application/warc"]
        }
    }

    var fileExtensions: [String] {
        switch self {
        case .tar: ["tar"]
        case .zip: ["zip", "jar", "apk", "epub", "docx", "xlsx", "pptx", "odt", "ods", "odp", "whl"]
        case .sevenzip: ["7z"]
        case .cpio: ["cpio"]
        case .ar: ["ar", "a", "deb"]
        case .iso: ["iso"]
        case .rar: ["rar"]
        case .cab: ["cab"]
        case .xar: ["xar", "pkg"]
        case .lha: ["lha", "lzh"]
        case .warc: ["warc"]
        }
    }
}

extension CompressionFormat {
    /// The signatures of streams in this format.
    var signatures: [BlobSignature] {
        switch self {
        case .bzip2: [BlobSignature(Array("BZh".utf8))]
        // The .xz File Format, 2.1.1.1.
        case .xz: [BlobSignature([0xFD, 0x37, 0x7A, 0x58, 0x5A, 0x00])]
        // lzma-file-format.txt has none; these are lc=3 lp=0 pb=2 and a window of whole 64 KiB, as all writers use.
        case .lzma: [BlobSignature([0x5D, 0x00, 0x00])]
        // RFC 8878, section 3.1.1; see also `begins(_:)`.
        case .zstd: [BlobSignature([0x28, 0xB5, 0x2F, 0xFD])]
        // lz4_Frame_format.md; the second is the legacy frame.
        case .lz4: [BlobSignature([0x04, 0x22, 0x4D, 0x18]), BlobSignature([0x02, 0x21, 0x4C, 0x18])]
        case .lzip: [BlobSignature(Array("LZIP".utf8))]
        case .compress: [BlobSignature([0x1F, 0x9D])]
        }
    }

    /// Returns true when a stream of this format begins like this, and nil when only bytes after these show it: both
    /// Zstandard and LZ4 data may begin with skippable frames (RFC 8878, section 3.1.2), which have the same form.
    func begins(_ beginning: [UInt8]) -> Bool? {
        var rest = beginning[...]
        while self == .zstd || self == .lz4, rest.count >= 8, rest.first.map({ $0 & 0xF0 == 0x50 }) ?? false,
            rest.dropFirst().starts(with: [0x2A, 0x4D, 0x18])
        {
            let count = 8 + Self.number(rest.dropFirst(4).prefix(4))
            guard count < rest.count else { return nil }
            rest = rest.dropFirst(Int(count))
        }
        return self.signatures.contains { rest.starts(with: $0.bytes) }
    }

    var mediaTypes: [String] {
        switch self {
        case .bzip2: ["application/x-bzip2"]
        case .xz: ["application/x-xz"]
        case .lzma: ["application/x-lzma"]
        case .zstd: ["application/zstd"]
        case .lz4: ["application/x-lz4"]
        case .lzip: ["application/x-lzip", "application/lzip"]
        case .compress: ["application/x-compress"]
        }
    }

    /// The file extensions, each with its replacement in the name of the content.
    var fileExtensions: [(suffix: String, replacement: String)] {
        switch self {
        case .bzip2: [("bz2", ""), ("tbz2", ".tar"), ("tbz", ".tar")]
        case .xz: [("xz", ""), ("txz", ".tar")]
        case .lzma: [("lzma", ""), ("tlz", ".tar")]
        case .zstd: [("zst", ""), ("tzst", ".tar")]
        case .lz4: [("lz4", "")]
        case .lzip: [("lz", "")]
        case .compress: [("z", ""), ("taz", ".tar")]
        }
    }
}

/// The checksum of a tar header, which identifies v7 archives, as they have no signature.
enum TarChecksum {
    /// Returns true when `header` holds 512 bytes with the right checksum (POSIX.1, pax, "ustar Interchange Format").
    static func isRight(_ header: [UInt8]) -> Bool {
        guard header.count >= TarHeader.byteCount, header[0] != 0 else { return false }
        return header.withUnsafeBytes { TarHeader($0).isChecksumRight }
    }
}
