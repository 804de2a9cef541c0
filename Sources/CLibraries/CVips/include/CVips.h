#ifndef BLOB_CVIPS_H
#define BLOB_CVIPS_H

// The functions of libvips in use, version 8.13 or later. Its headers are not needed: the prototypes follow its
// documentation. They are called through a table that `blob_vips_load` fills, so that libvips is not linked. Functions
// that take options as variadic arguments have fixed arguments here.

#include <CLoading.h>
#include <stdbool.h>
#include <stddef.h>

/// The objects of libvips; all are GLib objects, released with `blob_g_object_unref`.
typedef struct _VipsImage VipsImage;
typedef struct _VipsSource VipsSource;
typedef struct _VipsTarget VipsTarget;
typedef struct _VipsInterpolate VipsInterpolate;
typedef struct _VipsArrayInt VipsArrayInt;

/// Loads and starts libvips, without cache or plugins, and with loaders only for JPEG, PNG, HEIF, WebP and TIFF.
///
/// Must be called once, by one thread, before any other function of this header.
///
/// - Parameter thread_count: The number of threads that decode one picture, 1 or 2.
/// - Returns: NULL on success; otherwise the reason, valid until the thread loads another library.
const char *blob_vips_load(int thread_count);

/// The functions with fixed arguments. Each is declared with the prefix `blob_`.
#define BLOB_VIPS_FUNCTIONS(X) \
    X(const char *, vips_version_string, (void), ()) \
    X(const char *, vips_error_buffer, (void), ()) \
    X(VipsSource *, vips_source_new_from_descriptor, (int descriptor), (descriptor)) \
    X(VipsTarget *, vips_target_new_to_descriptor, (int descriptor), (descriptor)) \
    X(VipsImage *, vips_image_copy_memory, (VipsImage *image), (image)) \
    X(VipsImage *, vips_image_new_from_memory_copy, \
      (const void *data, size_t size, int width, int height, int bands, int format), \
      (data, size, width, height, bands, format)) \
    X(VipsInterpolate *, vips_interpolate_new, (const char *name), (name)) \
    X(VipsArrayInt *, vips_array_int_new, (const int *numbers, int count), (numbers, count)) \
    X(int, vips_image_get_interpretation, (const VipsImage *image), (image)) \
    X(int, vips_image_get_format, (const VipsImage *image), (image)) \
    X(int, vips_image_hasalpha, (VipsImage *image), (image)) \
    X(int, vips_image_get_width, (const VipsImage *image), (image)) \
    X(int, vips_image_get_height, (const VipsImage *image), (image)) \
    X(void, vips_error_clear, (void), ()) \
    X(void, vips_area_unref, (void *area), (area)) \
    X(void, g_object_unref, (void *object), (object))

BLOB_VIPS_FUNCTIONS(BLOB_DECLARE)

/// Discards the warnings about earlier pictures.
void blob_vips_clear_warnings(void);
/// The warnings of decoders since the last call of `blob_vips_clear_warnings`, one per line, at most 1000 bytes;
/// warnings about a JPEG arrive when its images are released. No other thread may use libvips.
const char *blob_vips_warnings(void);

/// Decodes a picture to fit a square of `size` pixels, upright, in sRGB; never makes it larger. NULL on failure.
VipsImage *blob_vips_thumbnail(VipsSource *source, int size);

/// Encodes a picture as JPEG without metadata except the profile. Returns 0, or another value on failure.
///
/// - Parameter quality: The quality of the JPEG, 1 to 100.
int blob_vips_save_jpeg(VipsImage *image, VipsTarget *target, int quality);

// For rendering. Each function returns a new image, or NULL on failure; the caller still owns the given image.

/// The interpretations of pixels that need no conversion, and CMYK; the format of 8-bit samples.
enum { blob_vips_grey = 1, blob_vips_cmyk = 15, blob_vips_srgb = 22, blob_vips_bytes = 0 };

/// Opens a picture that is decoded once, from top to bottom.
VipsImage *blob_vips_open(VipsSource *source);
VipsImage *blob_vips_crop(VipsImage *image, int left, int top, int width, int height);
/// Turns clockwise by 1 to 3 quarter turns.
VipsImage *blob_vips_turn(VipsImage *image, int quarters);
VipsImage *blob_vips_mirror(VipsImage *image, bool is_vertical);
/// Replaces samples with the values in a table, which is an image of 256 by 1 pixels.
VipsImage *blob_vips_map(VipsImage *image, VipsImage *table);
/// Moves (x, y) to (a x + b y + x0, c x + d y + y0), where centres of pixels have integer coordinates; bicubic.
///
/// - Parameter matrix: a, b, c, d, x0 and y0.
VipsImage *blob_vips_affine(VipsImage *image, const double matrix[6], int width, int height);
/// Converts to 8-bit sRGB or grey, flattening transparency onto black.
VipsImage *blob_vips_reduce(VipsImage *image);
/// Encodes a picture with its metadata as JPEG, while it is being decoded. Returns 0, or another value on failure.
int blob_vips_save_rendered(VipsImage *image, VipsTarget *target, int quality);

#endif
