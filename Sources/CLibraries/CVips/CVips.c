#define _GNU_SOURCE
#include "CVips.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The functions with options are variadic.
#define FUNCTIONS(X) \
    BLOB_VIPS_FUNCTIONS(X) \
    X(int, vips_init, (const char *program), ()) \
    X(int, vips_version, (int part), ()) \
    X(void, vips_concurrency_set, (int count), ()) \
    X(void, vips_cache_set_max, (int count), ()) \
    X(void, vips_vector_set_enabled, (int is_enabled), ()) \
    X(void, vips_operation_block_set, (const char *name, int is_blocked), ()) \
    X(int, vips_thumbnail_source, (VipsSource *source, VipsImage **image, int width, ...), ()) \
    X(int, vips_jpegsave_target, (VipsImage *image, VipsTarget *target, ...), ()) \
    X(VipsImage *, vips_image_new_from_source, (VipsSource *source, const char *options, ...), ()) \
    X(int, vips_extract_area, (VipsImage *in, VipsImage **out, int left, int top, int width, int height, ...), ()) \
    X(int, vips_rot, (VipsImage *in, VipsImage **out, int angle, ...), ()) \
    X(int, vips_flip, (VipsImage *in, VipsImage **out, int direction, ...), ()) \
    X(int, vips_maplut, (VipsImage *in, VipsImage **out, VipsImage *table, ...), ()) \
    X(int, vips_affine, (VipsImage *in, VipsImage **out, double a, double b, double c, double d, ...), ()) \
    X(int, vips_colourspace, (VipsImage *in, VipsImage **out, int space, ...), ()) \
    X(int, vips_flatten, (VipsImage *in, VipsImage **out, ...), ()) \
    X(void *, g_log_set_default_handler, (void (*handler)(const char *, int, const char *, void *), void *data), ())

BLOB_TABLE(blob_libvips, FUNCTIONS)

/// Loads the module for HEIF, which Debian packages apart from the library; does nothing if it is not installed.
static void load_heif(void) {
    Dl_info info;
    char path[4096];
    if (dladdr((void *)functions.vips_init, &info) == 0 || info.dli_fname == NULL) return;
    const char *end = strrchr(info.dli_fname, '/');
    int count = end == NULL ? 0 : (int)(end - info.dli_fname);
    if (count == 0) return;
    int length = snprintf(
        path, sizeof path, "%.*s/vips-modules-%d.%d/vips-heif.so", count, info.dli_fname, functions.vips_version(0),
        functions.vips_version(1));
    if (length < 0 || (size_t)length >= sizeof path) return;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *(*start)(void *) = module == NULL ? NULL : (const char *(*)(void *))dlsym(module, "g_module_check_init");
    if (start != NULL) (void)start(NULL);
    // Newer versions of libheif find their decoders in files.
    void *heif = dlopen(blob_libheif.file_names[0], RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    int (*heif_start)(void *) = heif == NULL ? NULL : (int (*)(void *))dlsym(heif, "heif_init");
    if (heif_start != NULL) (void)heif_start(NULL);
}

static struct {
    pthread_mutex_t mutex;
    size_t length;
    char text[1000];
} warnings = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/// Stores a warning of GLib; called on any thread.
static void keep_warning(const char *domain, int level, const char *message, void *data) {
    // `G_LOG_LEVEL_WARNING`; less severe levels have larger numbers. Bits 0 and 1 are flags.
    enum { level_warning = 1 << 4 };
    (void)domain, (void)data;
    if ((level & ~3) > level_warning || message == NULL) return;
    pthread_mutex_lock(&warnings.mutex);
    size_t room = sizeof warnings.text - warnings.length;
    int length = snprintf(warnings.text + warnings.length, room, "%s\n", message);
    if (length > 0) warnings.length += (size_t)length < room ? (size_t)length : room - 1;
    pthread_mutex_unlock(&warnings.mutex);
}

void blob_vips_clear_warnings(void) {
    pthread_mutex_lock(&warnings.mutex);
    warnings.length = 0;
    warnings.text[0] = 0;
    pthread_mutex_unlock(&warnings.mutex);
}

const char *blob_vips_warnings(void) { return warnings.text; }

const char *blob_vips_load(int thread_count) {
    // A folder without plugins, which would load ImageMagick and Poppler.
    setenv("VIPSHOME", "/nonexistent", 1);
    const char *reason = load_functions();
    if (reason != NULL) return reason;
    (void)functions.g_log_set_default_handler(keep_warning, NULL);
    if (functions.vips_init("blob-media-helper") != 0) return functions.vips_error_buffer();
    load_heif();
    functions.vips_concurrency_set(thread_count);
    functions.vips_cache_set_max(0);
    // Vector code is compiled at run time, which the helper may not do.
    functions.vips_vector_set_enabled(0);
    static const char *const loaders[] = {"Jpeg", "Png", "Heif", "Webp", "Tiff"};
    functions.vips_operation_block_set("VipsForeignLoad", 1);
    for (size_t place = 0; place < sizeof loaders / sizeof loaders[0]; place += 1) {
        char name[64];
        snprintf(name, sizeof name, "VipsForeignLoad%s", loaders[place]);
        functions.vips_operation_block_set(name, 0);
    }
    return NULL;
}

BLOB_VIPS_FUNCTIONS(BLOB_DEFINE)

// The numbers of enumerations of libvips. With `VIPS_FAIL_ON_ERROR`, missing pixels are not replaced by grey ones; the
// option of the same name of `vips_thumbnail_source` does nothing.
enum { size_down = 2, fail_on_error = 2, access_sequential = 1, interpretation_grey16 = 26 };

VipsImage *blob_vips_thumbnail(VipsSource *source, int size) {
    VipsImage *image = NULL;
    int status = functions.vips_thumbnail_source(
        source, &image, size, "height", size, "size", size_down, "export_profile", "srgb",
        "option_string", "fail_on=error", (char *)NULL);
    return status == 0 ? image : NULL;
}

int blob_vips_save_jpeg(VipsImage *image, VipsTarget *target, int quality) {
    return functions.vips_jpegsave_target(image, target, "Q", quality, "strip", 1, "profile", "none", (char *)NULL);
}

VipsImage *blob_vips_open(VipsSource *source) {
    return functions.vips_image_new_from_source(
        source, "", "access", access_sequential, "fail_on", fail_on_error, (char *)NULL);
}

VipsImage *blob_vips_crop(VipsImage *image, int left, int top, int width, int height) {
    VipsImage *result = NULL;
    return functions.vips_extract_area(image, &result, left, top, width, height, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_turn(VipsImage *image, int quarters) {
    VipsImage *result = NULL;
    return functions.vips_rot(image, &result, quarters, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_mirror(VipsImage *image, bool is_vertical) {
    VipsImage *result = NULL;
    return functions.vips_flip(image, &result, is_vertical ? 1 : 0, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_map(VipsImage *image, VipsImage *map) {
    VipsImage *result = NULL;
    return functions.vips_maplut(image, &result, map, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_affine(VipsImage *image, const double matrix[6], int width, int height) {
    VipsImage *result = NULL;
    int area[4] = {0, 0, width, height};
    VipsInterpolate *bicubic = functions.vips_interpolate_new("bicubic");
    VipsArrayInt *place = functions.vips_array_int_new(area, 4);
    if (bicubic != NULL && place != NULL) {
        (void)functions.vips_affine(
            image, &result, matrix[0], matrix[1], matrix[2], matrix[3], "odx", matrix[4], "ody", matrix[5], "oarea",
            place, "interpolate", bicubic, (char *)NULL);
    }
    if (bicubic != NULL) functions.g_object_unref(bicubic);
    if (place != NULL) functions.vips_area_unref(place);
    return result;
}

VipsImage *blob_vips_reduce(VipsImage *image) {
    VipsImage *opaque = NULL, *result = NULL;
    if (functions.vips_flatten(image, &opaque, (char *)NULL) != 0) return NULL;
    int space = functions.vips_image_get_interpretation(opaque);
    int target = space == blob_vips_grey || space == interpretation_grey16 ? blob_vips_grey : blob_vips_srgb;
    int status = functions.vips_colourspace(opaque, &result, target, (char *)NULL);
    functions.g_object_unref(opaque);
    return status == 0 ? result : NULL;
}

int blob_vips_save_rendered(VipsImage *image, VipsTarget *target, int quality) {
    return functions.vips_jpegsave_target(
        image, target, "Q", quality, "optimize_coding", 0, "interlace", 0, (char *)NULL);
}
