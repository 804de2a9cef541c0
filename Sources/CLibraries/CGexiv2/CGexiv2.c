#define _GNU_SOURCE
#include "CGexiv2.h"

#include <CLoading.h>
#include <stdlib.h>
#include <string.h>

/// Types of GLib.
typedef struct _GError GError;
typedef struct _GBytes GBytes;

#define FUNCTIONS(X) \
    X(int, gexiv2_initialize, (void), ()) \
    X(GExiv2Metadata *, gexiv2_metadata_new, (void), ()) \
    X(int, gexiv2_metadata_open_buf, (GExiv2Metadata *, const uint8_t *, long, GError **), ()) \
    X(char *, gexiv2_metadata_try_get_tag_string, (GExiv2Metadata *, const char *, GError **), ()) \
    X(GBytes *, gexiv2_metadata_try_get_tag_raw, (GExiv2Metadata *, const char *, GError **), ()) \
    X(int, gexiv2_metadata_try_get_gps_latitude, (GExiv2Metadata *, double *, GError **), ()) \
    X(int, gexiv2_metadata_try_get_gps_longitude, (GExiv2Metadata *, double *, GError **), ()) \
    X(void, g_object_unref, (void *), ()) \
    X(void, g_error_free, (GError *), ()) \
    X(void, g_free, (void *), ()) \
    X(const void *, g_bytes_get_data, (GBytes *, size_t *), ()) \
    X(void, g_bytes_unref, (GBytes *), ())

BLOB_TABLE(blob_libgexiv2, FUNCTIONS)

/// The results and objects of libheif.
typedef struct { int code, subcode; const char *message; } HeifError;
typedef struct heif_context HeifContext;
typedef struct heif_image_handle HeifHandle;

#define HEIF_FUNCTIONS(X) \
    X(HeifContext *, heif_context_alloc, (void), ()) \
    X(void, heif_context_free, (HeifContext *), ()) \
    X(HeifError, heif_context_read_from_memory_without_copy, (HeifContext *, const void *, size_t, const void *), ()) \
    X(HeifError, heif_context_get_primary_image_handle, (HeifContext *, HeifHandle **), ()) \
    X(void, heif_image_handle_release, (const HeifHandle *), ()) \
    X(int, heif_image_handle_get_list_of_metadata_block_IDs, (const HeifHandle *, const char *, uint32_t *, int), ()) \
    X(size_t, heif_image_handle_get_metadata_size, (const HeifHandle *, uint32_t), ()) \
    X(HeifError, heif_image_handle_get_metadata, (const HeifHandle *, uint32_t, void *), ())

static struct {
    HEIF_FUNCTIONS(BLOB_FIELD)
} heif;

static const char *load_heif(void) {
    static const char *const names[] = {HEIF_FUNCTIONS(BLOB_NAME)};
    return blob_load(&blob_libheif, names, sizeof names / sizeof *names, &heif);
}

static bool has_heif;

const char *blob_gexiv2_load(void) {
    const char *reason = load_functions();
    if (reason != NULL) return reason;
    if (!functions.gexiv2_initialize()) return "it does not start";
    has_heif = load_heif() == NULL;
    return NULL;
}

/// Frees an error; returns true if an error was set.
static bool failed(GError *error) {
    if (error != NULL) functions.g_error_free(error);
    return error != NULL;
}

GExiv2Metadata *blob_gexiv2_read(const uint8_t *bytes, size_t count) {
    GError *error = NULL;
    GExiv2Metadata *metadata = functions.gexiv2_metadata_new();
    if (metadata == NULL) return NULL;
    int is_read = functions.gexiv2_metadata_open_buf(metadata, bytes, (long)count, &error);
    if (!failed(error) && is_read) return metadata;
    functions.g_object_unref(metadata);
    return NULL;
}

void blob_gexiv2_free(GExiv2Metadata *metadata) { functions.g_object_unref(metadata); }

char *blob_gexiv2_text(GExiv2Metadata *metadata, const char *tag) {
    GError *error = NULL;
    char *text = functions.gexiv2_metadata_try_get_tag_string(metadata, tag, &error);
    if (failed(error) || text == NULL) return NULL;
    char *copy = strdup(text);
    functions.g_free(text);
    return copy;
}

size_t blob_gexiv2_bytes(GExiv2Metadata *metadata, const char *tag, uint8_t *bytes, size_t room) {
    GError *error = NULL;
    GBytes *raw = functions.gexiv2_metadata_try_get_tag_raw(metadata, tag, &error);
    if (failed(error) || raw == NULL) return 0;
    size_t count = 0;
    const void *data = functions.g_bytes_get_data(raw, &count);
    if (data == NULL || count > room) count = 0;
    if (count > 0) memcpy(bytes, data, count);
    functions.g_bytes_unref(raw);
    return count;
}

bool blob_gexiv2_place(GExiv2Metadata *metadata, double *latitude, double *longitude) {
    GError *error = NULL, *other = NULL;
    int is_known = functions.gexiv2_metadata_try_get_gps_latitude(metadata, latitude, &error);
    is_known &= functions.gexiv2_metadata_try_get_gps_longitude(metadata, longitude, &other);
    // Frees both errors.
    return !(failed(error) | failed(other)) && is_known;
}

uint8_t *blob_heif_block(const uint8_t *bytes, size_t count, const char *type, size_t room, size_t *block_count) {
    HeifContext *context = has_heif ? heif.heif_context_alloc() : NULL;
    if (context == NULL) return NULL;
    HeifHandle *handle = NULL;
    uint8_t *block = NULL;
    uint32_t identifier = 0;
    if (heif.heif_context_read_from_memory_without_copy(context, bytes, count, NULL).code == 0
        && heif.heif_context_get_primary_image_handle(context, &handle).code == 0
        && heif.heif_image_handle_get_list_of_metadata_block_IDs(handle, type, &identifier, 1) == 1) {
        *block_count = heif.heif_image_handle_get_metadata_size(handle, identifier);
        if (*block_count > 0 && *block_count <= room) block = malloc(*block_count);
        if (block != NULL && heif.heif_image_handle_get_metadata(handle, identifier, block).code != 0) {
            free(block);
            block = NULL;
        }
    }
    if (handle != NULL) heif.heif_image_handle_release(handle);
    heif.heif_context_free(context);
    return block;
}
