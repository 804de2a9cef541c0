#define _GNU_SOURCE
#include "CGexiv2.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

/// As in GLib.
typedef struct _GError GError;
typedef struct _GBytes GBytes;

static struct {
    int (*gexiv2_initialize_)(void);
    GExiv2Metadata *(*gexiv2_metadata_new_)(void);
    int (*gexiv2_metadata_open_buf_)(GExiv2Metadata *, const uint8_t *, long, GError **);
    char *(*gexiv2_metadata_try_get_tag_string_)(GExiv2Metadata *, const char *, GError **);
    GBytes *(*gexiv2_metadata_try_get_tag_raw_)(GExiv2Metadata *, const char *, GError **);
    int (*gexiv2_metadata_try_get_gps_latitude_)(GExiv2Metadata *, double *, GError **);
    int (*gexiv2_metadata_try_get_gps_longitude_)(GExiv2Metadata *, double *, GError **);
    void (*g_object_unref_)(void *);
    void (*g_error_free_)(GError *);
    void (*g_free_)(void *);
    const void *(*g_bytes_get_data_)(GBytes *, size_t *);
    void (*g_bytes_unref_)(GBytes *);
} table;

/// The results and objects of libheif.
typedef struct { int code, subcode; const char *message; } HeifError;
typedef struct heif_context HeifContext;
typedef struct heif_image_handle HeifHandle;

static struct {
    HeifContext *(*heif_context_alloc_)(void);
    void (*heif_context_free_)(HeifContext *);
    HeifError (*heif_context_read_from_memory_without_copy_)(HeifContext *, const void *, size_t, const void *);
    HeifError (*heif_context_get_primary_image_handle_)(HeifContext *, HeifHandle **);
    void (*heif_image_handle_release_)(const HeifHandle *);
    int (*heif_image_handle_get_list_of_metadata_block_IDs_)(const HeifHandle *, const char *, uint32_t *, int);
    size_t (*heif_image_handle_get_metadata_size_)(const HeifHandle *, uint32_t);
    HeifError (*heif_image_handle_get_metadata_)(const HeifHandle *, uint32_t, void *);
} heif;

#if defined(__APPLE__)
static const char *const library_name = "libgexiv2.2.dylib", *const heif_name = "libheif.1.dylib";
#else
static const char *const library_name = "libgexiv2.so.2", *const heif_name = "libheif.so.1";
#endif

/// Finds a function, or returns.
#define FIND(table, library, name, otherwise) \
    table.name##_ = (__typeof__(table.name##_))dlsym(library, #name); \
    if (table.name##_ == NULL) return otherwise;

static bool load_heif(void) {
    void *library = dlopen(heif_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
    FIND(heif, library, heif_context_alloc, false)
    FIND(heif, library, heif_context_free, false)
    FIND(heif, library, heif_context_read_from_memory_without_copy, false)
    FIND(heif, library, heif_context_get_primary_image_handle, false)
    FIND(heif, library, heif_image_handle_release, false)
    FIND(heif, library, heif_image_handle_get_list_of_metadata_block_IDs, false)
    FIND(heif, library, heif_image_handle_get_metadata_size, false)
    FIND(heif, library, heif_image_handle_get_metadata, false)
    return true;
}

static bool has_heif;

const char *blob_gexiv2_load(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define FIND_FUNCTION(name) FIND(table, library, name, "it is too old: it has no " #name)
    FIND_FUNCTION(gexiv2_initialize)
    FIND_FUNCTION(gexiv2_metadata_new)
    FIND_FUNCTION(gexiv2_metadata_open_buf)
    FIND_FUNCTION(gexiv2_metadata_try_get_tag_string)
    FIND_FUNCTION(gexiv2_metadata_try_get_tag_raw)
    FIND_FUNCTION(gexiv2_metadata_try_get_gps_latitude)
    FIND_FUNCTION(gexiv2_metadata_try_get_gps_longitude)
    FIND_FUNCTION(g_object_unref)
    FIND_FUNCTION(g_error_free)
    FIND_FUNCTION(g_free)
    FIND_FUNCTION(g_bytes_get_data)
    FIND_FUNCTION(g_bytes_unref)
#undef FIND_FUNCTION
    if (!table.gexiv2_initialize_()) return "it does not start";
    has_heif = load_heif();
    return NULL;
}

/// Frees an error; returns true when there was one.
static bool failed(GError *error) {
    if (error != NULL) table.g_error_free_(error);
    return error != NULL;
}

GExiv2Metadata *blob_gexiv2_read(const uint8_t *bytes, size_t count) {
    GError *error = NULL;
    GExiv2Metadata *metadata = table.gexiv2_metadata_new_();
    if (metadata == NULL) return NULL;
    int is_read = table.gexiv2_metadata_open_buf_(metadata, bytes, (long)count, &error);
    if (!failed(error) && is_read) return metadata;
    table.g_object_unref_(metadata);
    return NULL;
}

void blob_gexiv2_free(GExiv2Metadata *metadata) { table.g_object_unref_(metadata); }

char *blob_gexiv2_text(GExiv2Metadata *metadata, const char *tag) {
    GError *error = NULL;
    char *text = table.gexiv2_metadata_try_get_tag_string_(metadata, tag, &error);
    if (failed(error) || text == NULL) return NULL;
    char *copy = strdup(text);
    table.g_free_(text);
    return copy;
}

size_t blob_gexiv2_bytes(GExiv2Metadata *metadata, const char *tag, uint8_t *bytes, size_t room) {
    GError *error = NULL;
    GBytes *raw = table.gexiv2_metadata_try_get_tag_raw_(metadata, tag, &error);
    if (failed(error) || raw == NULL) return 0;
    size_t count = 0;
    const void *data = table.g_bytes_get_data_(raw, &count);
    if (data == NULL || count > room) count = 0;
    if (count > 0) memcpy(bytes, data, count);
    table.g_bytes_unref_(raw);
    return count;
}

bool blob_gexiv2_place(GExiv2Metadata *metadata, double *latitude, double *longitude) {
    GError *error = NULL, *other = NULL;
    int is_known = table.gexiv2_metadata_try_get_gps_latitude_(metadata, latitude, &error);
    is_known &= table.gexiv2_metadata_try_get_gps_longitude_(metadata, longitude, &other);
    // Both are freed.
    return !(failed(error) | failed(other)) && is_known;
}

uint8_t *blob_heif_block(const uint8_t *bytes, size_t count, const char *type, size_t room, size_t *block_count) {
    HeifContext *context = has_heif ? heif.heif_context_alloc_() : NULL;
    if (context == NULL) return NULL;
    HeifHandle *handle = NULL;
    uint8_t *block = NULL;
    uint32_t identifier = 0;
    if (heif.heif_context_read_from_memory_without_copy_(context, bytes, count, NULL).code == 0
        && heif.heif_context_get_primary_image_handle_(context, &handle).code == 0
        && heif.heif_image_handle_get_list_of_metadata_block_IDs_(handle, type, &identifier, 1) == 1) {
        *block_count = heif.heif_image_handle_get_metadata_size_(handle, identifier);
        if (*block_count > 0 && *block_count <= room) block = malloc(*block_count);
        if (block != NULL && heif.heif_image_handle_get_metadata_(handle, identifier, block).code != 0) {
            free(block);
            block = NULL;
        }
    }
    if (handle != NULL) heif.heif_image_handle_release_(handle);
    heif.heif_context_free_(context);
    return block;
}
