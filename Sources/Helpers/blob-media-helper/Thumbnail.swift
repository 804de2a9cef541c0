internal import CTurboJPEG
internal import CVips
internal import HelperExchange

/// The quality of the JPEG of a thumbnail, 1 to 100.
let thumbnailQuality: CInt = 80

/// Decodes a picture to a thumbnail, and writes it as JPEG to a pipe.
///
/// - Parameter size: The side of the square into which the thumbnail fits, in pixels.
func makeThumbnail(size: Int64, of file: CInt, to pipe: CInt) throws(HelperFailure) -> ExchangeFrame {
    guard let size = CInt(exactly: size), size > 0 else {
        throw HelperFailure(.library, "the size of the thumbnail is invalid")
    }
    return try decoding(file) { source throws(HelperFailure) in
        guard let image = blob_vips_thumbnail(source, size) else { throw vipsFailure() }
        defer { blob_g_object_unref(UnsafeMutableRawPointer(image)) }
        guard let target = blob_vips_target_new_to_descriptor(pipe) else { throw vipsFailure() }
        defer { blob_g_object_unref(UnsafeMutableRawPointer(target)) }
        guard blob_vips_save_jpeg(image, target, thumbnailQuality) == 0 else { throw vipsFailure() }
        return ExchangeFrame(
            .done, a: Int64(blob_vips_image_get_width(image)), b: Int64(blob_vips_image_get_height(image)))
    }
}

/// Decodes a JPEG to a thumbnail without libvips, if possible, and writes it to a pipe.
///
/// - Parameter orientation: The orientation of the picture, 1 to 8, as in TIFF 6.0, tag 274.
func makeJPEGThumbnail(size: Int64, orientation: Int64, of file: CInt, to pipe: CInt) -> ExchangeFrame {
    var (width, height): (CInt, CInt) = (0, 0)
    guard let size = CInt(exactly: size), size > 0, (1...8).contains(orientation),
        blob_jpeg_thumbnail(file, pipe, size, CInt(orientation), thumbnailQuality, &width, &height) == blob_jpeg_done
    else { return ExchangeFrame(.declined) }
    return ExchangeFrame(.done, a: Int64(width), b: Int64(height))
}
