extension CompressionFormat {
    /// An inspector of the stream after its first header; nil for formats where the first header is enough, or where
    /// libarchive has the same limit.
    var inspector: (any StreamInspector)? {
        switch self {
        case .xz: XzInspector()
        case .lzip: LzipInspector()
        case .bzip2, .lzma, .zstd, .lz4, .compress: nil
        }
    }
}
