#ifndef BLOB_CVIPS_H
#define BLOB_CVIPS_H

// The functions of libvips in use, version 8.10 or later. No header of libvips is needed: the prototypes are those of its
// documentation. They are called through a table that `blob_vips_load` fills, so that libvips is not linked. Functions
// that take options as variadic arguments have fixed ones here.

#include <stdbool.h>
#include <stddef.h>

/// The objects of libvips; all are objects of GLib, released with `blob_g_object_unref`.
typedef struct _VipsImage VipsImage;
typedef struct _VipsSource VipsSource;
typedef struct _VipsTarget VipsTarget;

/// Loads and starts libvips: no cache, no plugins, and loaders for JPEG, PNG, HEIF, WebP and TIFF alone.
///
/// Must be called once, by one thread, before any other function of this header.
///
/// - Parameter thread_count: The number of threads that decode one picture, 1 or 2.
/// - Returns: NULL on success; otherwise the reason, valid until the thread calls `dlopen(3)` or `dlsym(3)` again.
const char *blob_vips_load(int thread_count);

/// The functions with fixed arguments. Each is declared with the prefix `blob_`.
#define BLOB_VIPS_FUNCTIONS(X) \
    X(const char *, vips_version_string, (void), ()) \
    X(const char *, vips_error_buffer, (void), ()) \
    X(VipsSource *, vips_source_new_from_descriptor, (int descriptor), (descriptor)) \
    X(VipsTarget *, vips_target_new_to_descriptor, (int descriptor), (descriptor)) \
    X(int, vips_image_get_width, (const VipsImage *image), (image)) \
    X(int, vips_image_get_height, (const VipsImage *image), (image))

/// Functions without a result.
#define BLOB_VIPS_PROCEDURES(X) \
    X(vips_error_clear, (void), ()) \
    X(g_object_unref, (void *object), (object))

#define BLOB_DECLARE(result, name, parameters, arguments) result blob_##name parameters;
BLOB_VIPS_FUNCTIONS(BLOB_DECLARE)
#undef BLOB_DECLARE
#define BLOB_DECLARE(name, parameters, arguments) void blob_##name parameters;
BLOB_VIPS_PROCEDURES(BLOB_DECLARE)
#undef BLOB_DECLARE

/// Decodes a picture to fit a square of `size` pixels, upright, in sRGB; never makes it larger. NULL on failure.
VipsImage *blob_vips_thumbnail(VipsSource *source, int size);

/// Encodes a picture as JPEG without metadata but the profile. Returns 0, or another value on failure.
///
/// - Parameter quality: 1 to 100.
int blob_vips_save_jpeg(VipsImage *image, VipsTarget *target, int quality);

#endif
