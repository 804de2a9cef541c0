#ifndef BLOB_CGEXIV2_H
#define BLOB_CGEXIV2_H

// The functions of libgexiv2 (0.12 or later) and libheif (1.0 or later) in use. Their headers are not needed: the
// prototypes follow their documentation. They are called through tables that `blob_gexiv2_load` fills, so that the
// libraries are not linked.

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/// The metadata of a file, released with `blob_gexiv2_metadata_free`.
typedef struct _GExiv2Metadata GExiv2Metadata;

/// Loads and starts libgexiv2, and libheif if it is installed.
///
/// Must be called once, by one thread, before any other function of this header. Returns NULL on success; otherwise the
/// reason, valid until the thread loads another library.
const char *blob_gexiv2_load(void);

/// Reads the metadata of a file, or of a TIFF or an XMP packet within one; NULL if it has no readable metadata.
///
/// - Parameter bytes: The bytes of the file, which must stay valid until the metadata is freed.
GExiv2Metadata *blob_gexiv2_read(const uint8_t *bytes, size_t count);

void blob_gexiv2_free(GExiv2Metadata *metadata);

/// Returns the text of a tag, such as `Exif.Photo.LensModel`; NULL if not found. The caller frees it with `free`.
char *blob_gexiv2_text(GExiv2Metadata *metadata, const char *tag);

/// Copies at most `room` bytes of a tag; returns their number, 0 if the tag is not found or longer.
size_t blob_gexiv2_bytes(GExiv2Metadata *metadata, const char *tag, uint8_t *bytes, size_t room);

/// Gets the location in degrees, from Exif or else from XMP; returns false if it is not found.
bool blob_gexiv2_place(GExiv2Metadata *metadata, double *latitude, double *longitude);

/// Copies a block of metadata of the primary picture of a HEIF, by libheif; NULL if not found, or if it has more than
/// `room` bytes. The caller frees it with `free`.
///
/// - Parameter type: `Exif` or `mime`, for XMP.
uint8_t *blob_heif_block(const uint8_t *bytes, size_t count, const char *type, size_t room, size_t *block_count);

#endif
