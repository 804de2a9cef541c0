#ifndef BLOB_CTURBOJPEG_H
#define BLOB_CTURBOJPEG_H

// Lossless transformations and thumbnails of JPEG by libturbojpeg, version 1.4 or later. Its header is not needed: the
// prototypes follow its documentation. The library is not linked, but loaded by `blob_jpeg_load`.

#include <stddef.h>

/// Loads libturbojpeg. Must be called once, by one thread, before any other function of this header.
///
/// Returns NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_jpeg_load(void);

/// A crop of the turned picture; a width of 0 means the whole picture.
struct blob_jpeg_crop {
    int left, top, width, height;
};

/// The results of a transformation.
enum blob_jpeg_result {
    blob_jpeg_done,
    /// The picture does not allow the operation, or the operation would take too much memory. Nothing was written.
    blob_jpeg_declined,
};

/// Decodes a JPEG to a thumbnail, and writes it to a pipe: upright, without metadata, in the colours as stored.
///
/// Declines pictures with an ICC profile, in colours other than grey and YCbCr, and damaged pictures.
///
/// - Parameters:
///   - file: The JPEG, open for reading.
///   - size: The side of the square into which the thumbnail fits, in pixels; smaller pictures are not enlarged.
///   - orientation: The orientation, 1 to 8, as in TIFF 6.0, tag 274.
///   - quality: The quality of the JPEG, 1 to 100.
///   - width: Set to the width of the thumbnail in pixels; `height` is set to its height.
enum blob_jpeg_result blob_jpeg_thumbnail(
    int file, int pipe, int size, int orientation, int quality, int *width, int *height);

/// Turns and crops a JPEG without decoding its blocks, and writes the result to a pipe.
///
/// - Parameters:
///   - file: The JPEG, open for reading.
///   - orientation: The orientation, 1 to 8, as in TIFF 6.0, tag 274.
///   - byte_count: The maximum memory for coefficients, in bytes.
enum blob_jpeg_result blob_jpeg_transform(
    int file, int pipe, int orientation, struct blob_jpeg_crop crop, size_t byte_count);

#endif
