/// A scheme without a provider in a registry, and the advice for the message of its error.
package struct UnregisteredScheme {
    /// The maximum number of registered schemes in a message.
    private static let listedCount = 8

    /// The schemes of this package, with the product that provides them and the provider to register.
    package static let ofPackage: [(product: String, provider: String, schemes: [String])] = [
        ("BlobCore", "BlobProvider.dataURL", ["data"]),
        ("FileSource", "FileSource.provider", ["file", "stdin"]),
        ("HTTPSource", "HTTPSource.provider", ["http", "https"]),
        ("S3Source", "S3Source.provider", ["s3"]),
        ("AssetLibrarySource", "BlobProvider.assetLibrary(at:)", ["assets-library", "ph"]),
        ("GzipSource", "BlobProvider.gzip", ["gzip"]),
        ("GzipSource", "BlobProvider.zlib", ["zlib"]),
        ("GzipSource", "BlobProvider.deflate", ["deflate"]),
        (
            "ArchiveSource", "BlobProvider.archives",
            [
                "ar", "bzip2", "cab", "compress", "cpio", "iso", "lha", "lz4", "lzip", "lzma", "lzop", "rar", "rpm",
                "sevenzip", "tar", "udf", "warc", "xar", "xz", "zip", "zstd",
            ]
        ),
    ]

    let scheme: String
    /// The registered schemes that fit in the place of this one: of origins, or of wrappers.
    let alternatives: [String]

    /// The error: its message names the product to add, or else a similar scheme, or else some registered ones.
    var error: BlobError {
        BlobError(.notRegistered, "No provider is registered for the scheme '\(self.scheme)'. \(self.advice)")
    }

    private var advice: String {
        if let found = Self.ofPackage.first(where: { $0.schemes.contains(self.scheme) }) {
            return "Add the product \(found.product), and register \(found.provider)."
        }
        let known = self.alternatives + Self.ofPackage.flatMap(\.schemes)
        if let near = Suggestion.scheme(meantBy: self.scheme, among: known) { return "Did you mean '\(near)'?" }
        let listed = self.alternatives.sorted().prefix(Self.listedCount).joined(separator: ", ")
        let rest = self.alternatives.count - Self.listedCount
        return "Registered: \(listed.isEmpty ? "none" : listed)\(rest > 0 ? " and \(rest) more" : "")."
    }
}
