internal import CTurboJPEG
internal import HelperExchange

/// Decodes a JPEG to a small one without libvips, if it can be, and writes that to a pipe.
///
/// - Parameter orientation: 1 to 8, as in TIFF 6.0, tag 274.
func makeJPEGThumbnail(size: Int64, orientation: Int64, of file: CInt, to pipe: CInt) -> ExchangeFrame {
    var (width, height): (CInt, CInt) = (0, 0)
    guard let size = CInt(exactly: size), size > 0, (1...8).contains(orientation),
        blob_jpeg_thumbnail(file, pipe, size, CInt(orientation), thumbnailQuality, &width, &height) == blob_jpeg_done
    else { return ExchangeFrame(.declined) }
    return ExchangeFrame(.done, a: Int64(width), b: Int64(height))
}
