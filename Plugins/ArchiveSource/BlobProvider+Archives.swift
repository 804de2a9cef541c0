public import BlobCore

extension BlobProvider {
    /// The provider of tar archives, with scheme `tar`.
    public static let tar = container(.tar)
    /// The provider of zip archives, with scheme `zip`.
    public static let zip = container(.zip)
    /// The provider of 7z archives, with scheme `sevenzip`.
    public static let sevenzip = container(.sevenzip)
    /// The provider of cpio archives, with scheme `cpio`.
    public static let cpio = container(.cpio)
    /// The provider of ar archives, with scheme `ar`.
    public static let ar = container(.ar)

    /// The provider of bzip2 streams, with scheme `bzip2`.
    public static let bzip2 = filter(.bzip2)
    /// The provider of xz streams, with scheme `xz`.
    public static let xz = filter(.xz)
    /// The provider of streams in the older LZMA format, with scheme `lzma`.
    public static let lzma = filter(.lzma)
    /// The provider of Zstandard streams, with scheme `zstd`.
    public static let zstd = filter(.zstd)
    /// The provider of LZ4 frames, with scheme `lz4`.
    public static let lz4 = filter(.lz4)
    /// The provider of lzip streams, with scheme `lzip`.
    public static let lzip = filter(.lzip)
    /// The provider of streams in the format of `compress`, with scheme `compress`.
    public static let compress = filter(.compress)

    /// The provider of the payload of RPM packages, usually a compressed cpio, with scheme `rpm`.
    public static let rpm = BlobProvider(
        .filter { base, _ in RPMSource(base) }, schemes: ["rpm"], mediaTypes: ["application/x-rpm"],
        fileExtensions: ["rpm"], signatures: [BlobSignature(RPMSource.signature)])

    /// The providers of the ``ArchiveFormat/helperFormats``, with schemes such as `iso`.
    private static let helperFormatProviders = ArchiveFormat.allCases.filter(\.needsHelper).map { container($0) }

    /// All providers of this module; the providers of the ``ArchiveFormat/helperFormats`` need the helper process of
    /// ``ArchiveIsolation/helper``.
    public static let archives =
        [tar, zip, sevenzip, cpio, ar, bzip2, xz, lzma, zstd, lz4, lzip, compress, rpm] + helperFormatProviders
        + unsupported

    /// Returns ``archives``, with another isolation for some formats.
    ///
    /// ```swift
    /// let providers = BlobProvider.archives(allowing: [.iso], isolation: .inProcess)
    /// ```
    ///
    /// - Parameters:
    ///   - formats: The formats to decode with `isolation`: formats in ``ArchiveFormat/helperFormats``, and `sevenzip`
    ///     for its rare coders. Their providers move to the end of the result. Other formats have no effect.
    ///   - isolation: The process that decodes archives of these formats: by default a helper process, or this process
    ///     if no helper is found.
    public static func archives(
        allowing formats: Set<ArchiveFormat>, isolation: ArchiveIsolation = .helperIfFound
    ) -> [BlobProvider] {
        let others = formats.intersection(ArchiveFormat.isolated).sorted { $0.rawValue < $1.rawValue }
        let schemes = others.map(\.rawValue)
        return self.archives.filter { !schemes.contains($0.schemes[0]) }
            + others.map { self.container($0, isolation) }
    }

    private static func container(_ format: ArchiveFormat, _ isolation: ArchiveIsolation = .helper) -> BlobProvider {
        BlobProvider(
            .container { base, context in
                ArchiveContainer(base, format: format, index: context.index, isolation: isolation)
            },
            schemes: [format.rawValue],
            mediaTypes: format.mediaTypes, fileExtensions: format.fileExtensions, signatures: format.signatures,
            recognizes: format == .tar ? ArchiveFormat.isTarHeader : nil, recognizesWithin: format.search)
    }

    private static func filter(_ format: CompressionFormat) -> BlobProvider {
        BlobProvider(
            .filter { base, context in DecompressedSource(base, format: format, index: context.index) },
            schemes: [format.rawValue],
            mediaTypes: format.mediaTypes, fileExtensions: format.fileExtensions.map(\.suffix),
            signatures: format.signatures, recognizes: format.recognizes)
    }

    /// The providers of unsupported formats, which are recognised so that the error names the format.
    private static let unsupported = [
        BlobProvider(
            .filter { _, _ in throw BlobError(.unsupported, "This is an lzop stream, which is not supported.")
            },
            schemes: ["lzop"], fileExtensions: ["lzo"],
            signatures: [BlobSignature([0x89, 0x4C, 0x5A, 0x4F, 0x00, 0x0D, 0x0A, 0x1A, 0x0A])]),
        // ECMA-167, 2/8.3.1: the first descriptor of an image without ISO 9660 descriptors.
        BlobProvider(
            .container { _, _ in
                throw BlobError(
                    .unsupported, "The only file system of this disc image is UDF, which is not supported.")
            },
            schemes: ["udf"], signatures: [BlobSignature(Array("BEA01".utf8), at: 16 * 2048 + 1)]),
    ]
}

extension ArchiveFormat {
    /// Returns true if 512 bytes are a tar header according to their checksum (POSIX.1, pax, "ustar Interchange
    /// Format"), which identifies v7 archives, because they have no signature.
    fileprivate static func isTarHeader(_ beginning: [UInt8]) -> Bool {
        guard beginning.count >= TarHeader.byteCount, beginning[0] != 0 else { return false }
        return beginning.withUnsafeBytes { TarHeader($0).isChecksumRight }
    }

    /// A closure that returns true if a source contains an archive of this format after other data; nil for formats
    /// that always begin at the first byte.
    fileprivate var search: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)? {
        if self == .zip { return ZipDirectory.exists }
        guard self.isEmbedded else { return nil }
        return { base, context in try EmbeddedSource.byteOffset(of: self, in: base, context) != nil }
    }
}
