import BlobCore

extension CompressionFormat {
    /// An inspector of the stream after its first header; nil for formats where the first header is enough, or where
    /// libarchive has the same limit.
    func inspector(_ context: BlobContext) -> (any StreamInspector)? {
        switch self {
        case .xz: XzInspector(context)
        case .lzip: LzipInspector(context)
        case .bzip2, .lzma, .zstd, .lz4, .compress: nil
        }
    }
}
