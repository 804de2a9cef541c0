#define _GNU_SOURCE
#include "CVips.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

// The results and parameters of libvips's functions; those with options are variadic.
static struct {
#define DECLARE(result, name, parameters, arguments) result (*name##_) parameters;
    BLOB_VIPS_FUNCTIONS(DECLARE)
#undef DECLARE
#define DECLARE(name, parameters, arguments) void (*name##_) parameters;
    BLOB_VIPS_PROCEDURES(DECLARE)
#undef DECLARE
    int (*vips_init_)(const char *program);
    int (*vips_version_)(int part);
    void (*vips_concurrency_set_)(int count);
    void (*vips_cache_set_max_)(int count);
    void (*vips_vector_set_enabled_)(int is_enabled);
    void (*vips_operation_block_set_)(const char *name, int is_blocked);
    int (*vips_thumbnail_source_)(VipsSource *source, VipsImage **image, int width, ...);
    int (*vips_jpegsave_target_)(VipsImage *image, VipsTarget *target, ...);
    VipsImage *(*vips_image_new_from_source_)(VipsSource *source, const char *options, ...);
    int (*vips_extract_area_)(VipsImage *in, VipsImage **out, int left, int top, int width, int height, ...);
    int (*vips_rot_)(VipsImage *in, VipsImage **out, int angle, ...);
    int (*vips_flip_)(VipsImage *in, VipsImage **out, int direction, ...);
    int (*vips_maplut_)(VipsImage *in, VipsImage **out, VipsImage *table, ...);
    int (*vips_affine_)(VipsImage *in, VipsImage **out, double a, double b, double c, double d, ...);
    int (*vips_colourspace_)(VipsImage *in, VipsImage **out, int space, ...);
    int (*vips_flatten_)(VipsImage *in, VipsImage **out, ...);
    void *(*g_log_set_default_handler_)(void (*handler)(const char *, int, const char *, void *), void *data);
} table;

#if defined(__APPLE__)
static const char *const library_name = "libvips.42.dylib", *const heif_name = "libheif.1.dylib";
#else
static const char *const library_name = "libvips.so.42", *const heif_name = "libheif.so.1";
#endif

/// Loads the module for HEIF, which Debian has apart from the library; does nothing where there is none.
static void load_heif(void) {
    Dl_info info;
    char path[4096];
    if (dladdr((void *)table.vips_init_, &info) == 0 || info.dli_fname == NULL) return;
    const char *end = strrchr(info.dli_fname, '/');
    int count = end == NULL ? 0 : (int)(end - info.dli_fname);
    if (count == 0) return;
    int length = snprintf(
        path, sizeof path, "%.*s/vips-modules-%d.%d/vips-heif.so", count, info.dli_fname, table.vips_version_(0),
        table.vips_version_(1));
    if (length < 0 || (size_t)length >= sizeof path) return;
    void *module = dlopen(path, RTLD_NOW | RTLD_LOCAL);
    const char *(*start)(void *) = module == NULL ? NULL : (const char *(*)(void *))dlsym(module, "g_module_check_init");
    if (start != NULL) (void)start(NULL);
    // Finds its decoders in files, in newer versions.
    void *heif = dlopen(heif_name, RTLD_NOW | RTLD_LOCAL | RTLD_NOLOAD);
    int (*heif_start)(void *) = heif == NULL ? NULL : (int (*)(void *))dlsym(heif, "heif_init");
    if (heif_start != NULL) (void)heif_start(NULL);
}

static struct {
    pthread_mutex_t mutex;
    size_t length;
    char text[1000];
} warnings = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/// Keeps a message of GLib; called by any thread.
static void keep_warning(const char *domain, int level, const char *message, void *data) {
    // `G_LOG_LEVEL_WARNING`; less severe ones have larger numbers. Bits 0 and 1 are flags.
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
    // A folder without plugins: they would load ImageMagick and Poppler.
    setenv("VIPSHOME", "/nonexistent", 1);
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define FIND(name) \
    table.name##_ = (__typeof__(table.name##_))dlsym(library, #name); \
    if (table.name##_ == NULL) return "it is too old: it has no " #name;
#define FIND_FUNCTION(result, name, parameters, arguments) FIND(name)
    BLOB_VIPS_FUNCTIONS(FIND_FUNCTION)
#undef FIND_FUNCTION
#define FIND_PROCEDURE(name, parameters, arguments) FIND(name)
    BLOB_VIPS_PROCEDURES(FIND_PROCEDURE)
#undef FIND_PROCEDURE
    FIND(vips_init) FIND(vips_version) FIND(vips_concurrency_set) FIND(vips_cache_set_max)
    FIND(vips_vector_set_enabled) FIND(vips_operation_block_set) FIND(vips_thumbnail_source)
    FIND(vips_jpegsave_target) FIND(vips_image_new_from_source) FIND(vips_extract_area) FIND(vips_rot) FIND(vips_flip)
    FIND(vips_maplut) FIND(vips_affine) FIND(vips_colourspace) FIND(vips_flatten)
    FIND(g_log_set_default_handler)
#undef FIND
    (void)table.g_log_set_default_handler_(keep_warning, NULL);
    if (table.vips_init_("blob-media-helper") != 0) return table.vips_error_buffer_();
    load_heif();
    table.vips_concurrency_set_(thread_count);
    table.vips_cache_set_max_(0);
    // It compiles code at run time, which the helper may not.
    table.vips_vector_set_enabled_(0);
    static const char *const loaders[] = {"Jpeg", "Png", "Heif", "Webp", "Tiff"};
    table.vips_operation_block_set_("VipsForeignLoad", 1);
    for (size_t place = 0; place < sizeof loaders / sizeof loaders[0]; place += 1) {
        char name[64];
        snprintf(name, sizeof name, "VipsForeignLoad%s", loaders[place]);
        table.vips_operation_block_set_(name, 0);
    }
    return NULL;
}

#define DEFINE(result, name, parameters, arguments) \
    result blob_##name parameters { return table.name##_ arguments; }
BLOB_VIPS_FUNCTIONS(DEFINE)
#undef DEFINE
#define DEFINE(name, parameters, arguments) \
    void blob_##name parameters { table.name##_ arguments; }
BLOB_VIPS_PROCEDURES(DEFINE)
#undef DEFINE

// The numbers of enumerations of libvips. With `VIPS_FAIL_ON_ERROR`, missing pixels are not replaced by grey ones; the
// option of the same name of `vips_thumbnail_source` does nothing.
enum { size_down = 2, fail_on_error = 2, access_sequential = 1, interpretation_grey16 = 26 };

VipsImage *blob_vips_thumbnail(VipsSource *source, int size) {
    VipsImage *image = NULL;
    int status = table.vips_thumbnail_source_(
        source, &image, size, "height", size, "size", size_down, "export_profile", "srgb",
        "option_string", "fail_on=error", (char *)NULL);
    return status == 0 ? image : NULL;
}

int blob_vips_save_jpeg(VipsImage *image, VipsTarget *target, int quality) {
    return table.vips_jpegsave_target_(image, target, "Q", quality, "strip", 1, "profile", "none", (char *)NULL);
}

VipsImage *blob_vips_open(VipsSource *source) {
    return table.vips_image_new_from_source_(
        source, "", "access", access_sequential, "fail_on", fail_on_error, (char *)NULL);
}

VipsImage *blob_vips_crop(VipsImage *image, int left, int top, int width, int height) {
    VipsImage *result = NULL;
    return table.vips_extract_area_(image, &result, left, top, width, height, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_turn(VipsImage *image, int quarters) {
    VipsImage *result = NULL;
    return table.vips_rot_(image, &result, quarters, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_mirror(VipsImage *image, bool is_vertical) {
    VipsImage *result = NULL;
    return table.vips_flip_(image, &result, is_vertical ? 1 : 0, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_map(VipsImage *image, VipsImage *map) {
    VipsImage *result = NULL;
    return table.vips_maplut_(image, &result, map, (char *)NULL) == 0 ? result : NULL;
}

VipsImage *blob_vips_affine(VipsImage *image, const double matrix[6], int width, int height) {
    VipsImage *result = NULL;
    int area[4] = {0, 0, width, height};
    VipsInterpolate *bicubic = table.vips_interpolate_new_("bicubic");
    VipsArrayInt *place = table.vips_array_int_new_(area, 4);
    if (bicubic != NULL && place != NULL) {
        (void)table.vips_affine_(
            image, &result, matrix[0], matrix[1], matrix[2], matrix[3], "odx", matrix[4], "ody", matrix[5], "oarea",
            place, "interpolate", bicubic, (char *)NULL);
    }
    if (bicubic != NULL) table.g_object_unref_(bicubic);
    if (place != NULL) table.vips_area_unref_(place);
    return result;
}

VipsImage *blob_vips_reduce(VipsImage *image) {
    VipsImage *opaque = NULL, *result = NULL;
    if (table.vips_flatten_(image, &opaque, (char *)NULL) != 0) return NULL;
    int space = table.vips_image_get_interpretation_(opaque);
    int target = space == blob_vips_grey || space == interpretation_grey16 ? blob_vips_grey : blob_vips_srgb;
    int status = table.vips_colourspace_(opaque, &result, target, (char *)NULL);
    table.g_object_unref_(opaque);
    return status == 0 ? result : NULL;
}

int blob_vips_save_rendered(VipsImage *image, VipsTarget *target, int quality) {
    return table.vips_jpegsave_target_(
        image, target, "Q", quality, "optimize_coding", 0, "interlace", 0, (char *)NULL);
}
