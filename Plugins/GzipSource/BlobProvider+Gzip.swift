public import BlobCore

extension BlobProvider {
    /// A provider of the wrapper `gzip`: RFC 1952, all members.
    public static let gzip = filter(
        .gzip, mediaTypes: ["application/gzip", "application/x-gzip"],
        // The identification of RFC 1952 and its only compression method.
        signatures: [BlobSignature([0x1F, 0x8B, 8])])

    /// A provider of the wrapper `zlib`: RFC 1950.
    ///
    /// Recognised by name and media type only, because its header of two bytes proves too little.
    public static let zlib = filter(.zlib, mediaTypes: ["application/zlib"])

    /// A provider of the wrapper `deflate`: RFC 1951, raw.
    public static let deflate = filter(.deflate)

    private static func filter(
        _ format: GzipSource.Format, mediaTypes: [String] = [], signatures: [BlobSignature] = []
    ) -> BlobProvider {
        BlobProvider(
            .filter { base, context in
                let source = GzipSource(base, format: format, index: context.index)
                // With an index the source has random access, on which outer layers depend. Errors show when it is
                // read.
                if context.index != .none { _ = try? source.info(context) }
                return source
            }, schemes: [format.rawValue],
            mediaTypes: mediaTypes, fileExtensions: format.fileExtensions, signatures: signatures)
    }
}
