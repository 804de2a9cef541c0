import BlobStreams

extension BlobProvider {
    /// Tar archives, as `tar`.
    public static let tar = container(.tar)
    /// Zip archives, as `zip`.
    public static let zip = container(.zip)
    /// 7z archives, as `sevenzip`.
    public static let sevenzip = container(.sevenzip)
    /// Archives of cpio, as `cpio`.
    public static let cpio = container(.cpio)
    /// Archives of ar, as `ar`.
    public static let ar = container(.ar)

    /// bzip2, as `bzip2`.
    public static let bzip2 = filter(.bzip2)
    /// xz, as `xz`.
    public static let xz = filter(.xz)
    /// The older format of LZMA, as `lzma`.
    public static let lzma = filter(.lzma)
    /// Zstandard, as `zstd`.
    public static let zstd = filter(.zstd)
    /// LZ4 frames, as `lz4`.
    public static let lz4 = filter(.lz4)
    /// lzip, as `lzip`.
    public static let lzip = filter(.lzip)
    /// The format of compress, as `compress`.
    public static let compress = filter(.compress)

    /// Packages of the RPM Package Manager, as `rpm`: their payload, mostly a compressed cpio.
    public static let rpm = BlobProvider(
        .filter { base, _ in RPMSource(base) }, schemes: ["rpm"], mediaTypes: ["application/x-rpm"],
        fileExtensions: ["rpm"], signatures: [BlobSignature(RPMSource.signature)], module: "ArchiveSource")

    /// All providers of this module.
    public static let archives = [tar, zip, sevenzip, cpio, ar, bzip2, xz, lzma, zstd, lz4, lzip, compress, rpm]

    /// All providers of this module, and those of formats that are not to be trusted.
    ///
    /// - Parameter formats: Of ``ArchiveFormat/foreign``; others are there anyway. A job over them that is cancelled or
    ///   late may leave a thread behind, for as long as libarchive takes; after four such threads at a time, further
    ///   archives are ``BlobError/Code/limitExceeded``.
    public static func archives(allowing formats: Set<ArchiveFormat>) -> [BlobProvider] {
        self.archives
            + formats.filter(\.isForeign).sorted { $0.rawValue < $1.rawValue }.map { self.container($0) }
    }

    private static func container(_ format: ArchiveFormat) -> BlobProvider {
        BlobProvider(
            .container { base, context in ArchiveContainer(base, format: format, index: context.index) },
            schemes: [format.rawValue],
            mediaTypes: format.mediaTypes, fileExtensions: format.fileExtensions, signatures: format.signatures,
            recognizes: format == .tar ? TarChecksum.isRight : nil, recognizesWithin: format.search,
            module: "ArchiveSource")
    }

    private static func filter(_ format: CompressionFormat) -> BlobProvider {
        BlobProvider(
            .filter { base, _ in DecompressedSource(base, format: format) }, schemes: [format.rawValue],
            mediaTypes: format.mediaTypes, fileExtensions: format.fileExtensions.map(\.suffix),
            signatures: format.signatures, module: "ArchiveSource")
    }
}

extension ArchiveFormat {
    /// Looks for an archive that something else stands before; nil for formats that always begin with themselves.
    fileprivate var search: (@Sendable (any BlobInputStreamDataSource, BlobContext) throws -> Bool)? {
        if self == .zip { return ZipDirectory.isThere }
        guard self.isEmbedded else { return nil }
        return { base, context in try EmbeddedSource.byteOffset(of: self, in: base, context) != nil }
    }
}
