#define _GNU_SOURCE
#include "CTurboJPEG.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

/// `tjtransform` of libturbojpeg.
struct transform {
    struct blob_jpeg_crop crop;
    int operation;
    int options;
    void *data;
    int (*filter)(void);
};

/// `TJXOPT_PERFECT` and `TJXOPT_CROP` of libturbojpeg.
enum { option_perfect = 1, option_crop = 4 };

static struct {
    void *(*init)(void);
    int (*header)(void *handle, const unsigned char *bytes, unsigned long count, int *width, int *height, int *kind);
    int (*transform)(
        void *handle, const unsigned char *bytes, unsigned long count, int transform_count, unsigned char **results,
        unsigned long *result_counts, struct transform *transforms, int flags);
    void (*release)(unsigned char *bytes);
    int (*destroy)(void *handle);
} table;

#if defined(__APPLE__)
static const char *const library_name = "libturbojpeg.0.dylib";
#else
static const char *const library_name = "libturbojpeg.so.0";
#endif

bool blob_jpeg_load(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return false;
#define FIND(field, name) table.field = (__typeof__(table.field))dlsym(library, name);
    FIND(header, "tjDecompressHeader2") FIND(transform, "tjTransform") FIND(release, "tjFree")
    FIND(destroy, "tjDestroy") FIND(init, "tjInitTransform")
#undef FIND
    return table.header != NULL && table.transform != NULL && table.release != NULL && table.destroy != NULL
        && table.init != NULL;
}

static unsigned char *contents(int file, size_t *count) {
    struct stat status;
    if (fstat(file, &status) != 0 || status.st_size <= 0 || status.st_size > 256 << 20) return NULL;
    size_t size = (size_t)status.st_size;
    unsigned char *bytes = malloc(size);
    if (bytes == NULL) return NULL;
    for (*count = 0; *count < size;) {
        ssize_t part = pread(file, bytes + *count, size - *count, (off_t)*count);
        if (part < 0 && errno == EINTR) continue;
        if (part <= 0) break;
        *count += (size_t)part;
    }
    return bytes;
}

/// The bytes of the coefficients of a picture: twice the samples of its kinds 4:4:4, 4:2:2, 4:2:0, grey, 4:4:0, 4:1:1.
static size_t coefficient_bytes(int width, int height, int kind) {
    static const size_t samples[] = {6, 4, 3, 2, 4, 3};
    size_t pixels = ((size_t)width + 31) * ((size_t)height + 31);
    return kind < 0 || kind > 5 ? SIZE_MAX : pixels * samples[kind];
}

enum blob_jpeg_result blob_jpeg_transform(
    int file, int pipe, int orientation, struct blob_jpeg_crop crop, size_t byte_count) {
    // The operations of libturbojpeg for the orientations 1 to 8.
    static const int operations[] = {0, 1, 6, 2, 3, 5, 4, 7};
    enum blob_jpeg_result result = blob_jpeg_declined;
    void *handle = table.init == NULL || orientation < 1 || orientation > 8 ? NULL : table.init();
    if (handle == NULL) return result;
    size_t count = 0;
    unsigned char *bytes = contents(file, &count), *turned = NULL;
    unsigned long turned_count = 0;
    int width = 0, height = 0, kind = 0, options = option_perfect | (crop.width > 0 ? option_crop : 0);
    struct transform step = {crop, operations[orientation - 1], options, NULL, NULL};
    if (bytes != NULL && table.header(handle, bytes, count, &width, &height, &kind) == 0
        && coefficient_bytes(width, height, kind) * (orientation == 1 ? 1 : 2) <= byte_count
        && table.transform(handle, bytes, count, 1, &turned, &turned_count, &step, 0) == 0) {
        result = blob_jpeg_done;
        for (unsigned long place = 0; place < turned_count;) {
            ssize_t written = write(pipe, turned + place, turned_count - place);
            if (written < 0 && errno == EINTR) continue;
            // Nobody reads any more.
            if (written <= 0) break;
            place += (unsigned long)written;
        }
    }
    if (turned != NULL) table.release(turned);
    free(bytes);
    table.destroy(handle);
    return result;
}
