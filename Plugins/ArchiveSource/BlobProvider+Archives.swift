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

    /// All providers of this module, except those of ``ArchiveFormat/foreign`` formats.
    public static let archives = [tar, zip, sevenzip, cpio, ar, bzip2, xz, lzma, zstd, lz4, lzip, compress, rpm]

    /// Returns ``archives`` and the providers of some formats whose decoders are not to be trusted.
    ///
    /// - Parameter formats: The formats of ``ArchiveFormat/foreign`` to add; others have no effect. A job over such an
    ///   archive that is cancelled or times out may leave a thread running until libarchive returns. While there are
    ///   four such threads, opening further archives of these formats throws ``BlobError/Code/limitExceeded``.
    public static func archives(allowing formats: Set<ArchiveFormat>) -> [BlobProvider] {
        self.archives
            + formats.filter(\.isForeign).sorted { $0.rawValue < $1.rawValue }.map { self.container($0) }
    }

    private static func container(_ format: ArchiveFormat) -> BlobProvider {
        BlobProvider(
            .container { base, context in ArchiveContainer(base, format: format, index: context.index) },
            schemes: [format.rawValue],
            mediaTypes: format.mediaTypes, fileExtensions: format.fileExtensions, signatures: format.signatures,
            recognizes: format == .tar ? TarChecksum.isRight : nil, recognizesWithin: format.search)
    }

    private static func filter(_ format: CompressionFormat) -> BlobProvider {
        BlobProvider(
            .filter { base, _ in DecompressedSource(base, format: format) }, schemes: [format.rawValue],
            mediaTypes: format.mediaTypes, fileExtensions: format.fileExtensions.map(\.suffix),
            signatures: format.signatures)
    }
}

extension ArchiveFormat {
    /// A search for an archive behind other data; nil for formats that always begin at the first byte.
    fileprivate var search: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)? {
        if self == .zip { return ZipDirectory.isThere }
        guard self.isEmbedded else { return nil }
        return { base, context in try EmbeddedSource.byteOffset(of: self, in: base, context) != nil }
    }
}
