#define _GNU_SOURCE
#include "CTurboJPEG.h"

#include <CLoading.h>
#include <errno.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
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

// As in turbojpeg.h, version 2.
#define FUNCTIONS(X) \
    X(void *, tjInitCompress, (void), ()) \
    X(void *, tjInitDecompress, (void), ()) \
    X(void *, tjInitTransform, (void), ()) \
    X(int, tjDestroy, (void *handle), ()) \
    X(void, tjFree, (unsigned char *bytes), ()) \
    X(int, tjDecompressHeader2, \
      (void *handle, unsigned char *bytes, unsigned long count, int *width, int *height, int *kind), ()) \
    X(int, tjDecompressHeader3, \
      (void *handle, const unsigned char *bytes, unsigned long count, int *width, int *height, int *kind, int *space), ()) \
    X(int, tjDecompress2, \
      (void *handle, const unsigned char *bytes, unsigned long count, unsigned char *pixels, int width, int pitch, \
       int height, int format, int flags), ()) \
    X(int, tjCompress2, \
      (void *handle, const unsigned char *pixels, int width, int pitch, int height, int format, unsigned char **result, \
       unsigned long *result_count, int kind, int quality, int flags), ()) \
    X(int, tjTransform, \
      (void *handle, const unsigned char *bytes, unsigned long count, int transform_count, unsigned char **results, \
       unsigned long *result_counts, struct transform *transforms, int flags), ())

BLOB_TABLE(blob_libturbojpeg, FUNCTIONS)

const char *blob_jpeg_load(void) { return load_functions(); }

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

static void write_all(int pipe, const unsigned char *bytes, unsigned long count) {
    for (unsigned long place = 0; place < count;) {
        ssize_t written = write(pipe, bytes + place, count - place);
        if (written < 0 && errno == EINTR) continue;
        // The reader has closed the pipe.
        if (written <= 0) break;
        place += (unsigned long)written;
    }
}

/// An upper bound on the size of the coefficients of a picture, in bytes. The table lists the bytes per pixel, two for
/// each sample, of 4:4:4, 4:2:2, 4:2:0, grey, 4:4:0 and 4:1:1.
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
    void *handle = functions.tjInitTransform == NULL || orientation < 1 || orientation > 8 ? NULL : functions.tjInitTransform();
    if (handle == NULL) return result;
    size_t count = 0;
    unsigned char *bytes = contents(file, &count), *turned = NULL;
    unsigned long turned_count = 0;
    int width = 0, height = 0, kind = 0, options = option_perfect | (crop.width > 0 ? option_crop : 0);
    struct transform step = {crop, operations[orientation - 1], options, NULL, NULL};
    if (bytes != NULL && functions.tjDecompressHeader2(handle, bytes, count, &width, &height, &kind) == 0
        && coefficient_bytes(width, height, kind) * (orientation == 1 ? 1 : 2) <= byte_count
        && functions.tjTransform(handle, bytes, count, 1, &turned, &turned_count, &step, 0) == 0) {
        result = blob_jpeg_done;
        write_all(pipe, turned, turned_count);
    }
    if (turned != NULL) functions.tjFree(turned);
    free(bytes);
    functions.tjDestroy(handle);
    return result;
}

/// True if a segment before the pixels is part of an ICC profile (ICC.1:2010, B.4).
static bool has_profile(const unsigned char *bytes, size_t count) {
    for (size_t place = 2; place + 16 < count && bytes[place] == 0xFF && bytes[place + 1] != 0xDA;) {
        if (bytes[place + 1] == 0xFF) {
            // A fill byte (ITU-T T.81, B.1.1.2).
            place++;
            continue;
        }
        if (bytes[place + 1] == 0xE2 && memcmp(bytes + place + 4, "ICC_PROFILE", 12) == 0) return true;
        place += 2 + ((size_t)bytes[place + 2] << 8 | bytes[place + 3]);
    }
    return false;
}

/// Pixels of three bytes: red, green and blue.
struct pixels {
    unsigned char *bytes;
    int width, height;
};

/// Averages the pixels of a row or a column; each `target` pixel covers some pixels wholly and up to two partly.
static void shrink_line(
    const unsigned char *source, int count, size_t step, unsigned char *target, int target_count, size_t target_step) {
    for (int index = 0; index < target_count; index++) {
        double start = (double)index * count / target_count, end = (double)(index + 1) * count / target_count;
        double sums[3] = {0.5, 0.5, 0.5};
        for (int place = (int)start; place < count && place < end; place++) {
            double weight = (place + 1 < end ? place + 1 : end) - (place > start ? place : start);
            for (int part = 0; part < 3; part++) sums[part] += weight / (end - start) * source[place * step + part];
        }
        for (int part = 0; part < 3; part++) target[index * target_step + part] = (unsigned char)sums[part];
    }
}

/// Returns a smaller picture, whose bytes the caller frees; NULL bytes if out of memory.
static struct pixels shrunk(struct pixels picture, int width, int height) {
    size_t row = 3 * (size_t)picture.width, target_row = 3 * (size_t)width;
    unsigned char *narrow = malloc(target_row * (size_t)picture.height);
    struct pixels result = {malloc(target_row * (size_t)height), width, height};
    if (narrow == NULL || result.bytes == NULL) {
        free(result.bytes);
        result.bytes = NULL;
    } else {
        for (int y = 0; y < picture.height; y++)
            shrink_line(picture.bytes + (size_t)y * row, picture.width, 3, narrow + (size_t)y * target_row, width, 3);
        for (int x = 0; x < width; x++)
            shrink_line(narrow + 3 * x, picture.height, target_row, result.bytes + 3 * x, height, target_row);
    }
    free(narrow);
    return result;
}

/// Returns the picture turned upright by the orientation, whose bytes the caller frees; NULL bytes if out of memory.
static struct pixels upright(struct pixels picture, int orientation) {
    int width = picture.width, height = picture.height;
    bool is_turned = orientation >= 5;
    struct pixels result = {
        malloc(3 * (size_t)width * (size_t)height), is_turned ? height : width, is_turned ? width : height};
    for (int y = 0; result.bytes != NULL && y < result.height; y++) {
        for (int x = 0; x < result.width; x++) {
            int across = is_turned ? y : x, down = is_turned ? x : y;
            // TIFF 6.0, tag 274: the side on which row 0 and column 0 are.
            bool is_mirrored = orientation == 2 || orientation == 3 || orientation == 7 || orientation == 8;
            bool is_upside_down = orientation == 3 || orientation == 4 || orientation == 6 || orientation == 7;
            if (is_mirrored) across = width - 1 - across;
            if (is_upside_down) down = height - 1 - down;
            const unsigned char *source = picture.bytes + 3 * ((size_t)down * (size_t)width + (size_t)across);
            memcpy(result.bytes + 3 * ((size_t)y * (size_t)result.width + (size_t)x), source, 3);
        }
    }
    return result;
}

/// Decodes at an eighth, a quarter, a half or the full size: the smallest at least twice as long as a side of the
/// thumbnail, which leaves pixels to average. NULL bytes if declined.
static struct pixels decoded(const unsigned char *bytes, size_t count, int size) {
    enum { space_colour = 1, space_grey = 2, format_rgb = 0, flag_stop_on_warning = 8192 };
    struct pixels picture = {NULL, 0, 0};
    void *handle = functions.tjInitDecompress();
    int kind = 0, space = 0;
    if (handle != NULL && functions.tjDecompressHeader3(handle, bytes, count, &picture.width, &picture.height, &kind, &space) == 0
        && (space == space_colour || space == space_grey) && picture.width > 0 && picture.height > 0) {
        int longest = picture.width > picture.height ? picture.width : picture.height, divisor = 8;
        while (divisor > 1 && longest / divisor < 2 * size) divisor /= 2;
        picture.width = (picture.width + divisor - 1) / divisor;
        picture.height = (picture.height + divisor - 1) / divisor;
        picture.bytes = malloc(3 * (size_t)picture.width * (size_t)picture.height);
        if (picture.bytes != NULL
            && functions.tjDecompress2(
                handle, bytes, count, picture.bytes, picture.width, 0, picture.height, format_rgb, flag_stop_on_warning)
                != 0) {
            free(picture.bytes);
            picture.bytes = NULL;
        }
    }
    if (handle != NULL) functions.tjDestroy(handle);
    return picture;
}

enum blob_jpeg_result blob_jpeg_thumbnail(
    int file, int pipe, int size, int orientation, int quality, int *width, int *height) {
    enum { format_rgb = 0, kind_420 = 2 };
    enum blob_jpeg_result result = blob_jpeg_declined;
    size_t count = 0;
    unsigned char *bytes = contents(file, &count), *packed = NULL;
    if (bytes == NULL || has_profile(bytes, count)) {
        free(bytes);
        return result;
    }
    struct pixels picture = decoded(bytes, count, size);
    free(bytes);
    if (picture.bytes == NULL) return result;
    double scale = (double)size / (picture.width > picture.height ? picture.width : picture.height);
    if (scale < 1) {
        int wide = (int)(picture.width * scale + 0.5), high = (int)(picture.height * scale + 0.5);
        struct pixels small = shrunk(picture, wide > 0 ? wide : 1, high > 0 ? high : 1);
        free(picture.bytes);
        picture = small;
    }
    struct pixels shown = picture.bytes == NULL ? picture : upright(picture, orientation);
    if (picture.bytes != NULL) free(picture.bytes);
    void *handle = shown.bytes == NULL ? NULL : functions.tjInitCompress();
    unsigned long packed_count = 0;
    if (handle != NULL
        && functions.tjCompress2(
            handle, shown.bytes, shown.width, 0, shown.height, format_rgb, &packed, &packed_count, kind_420, quality, 0)
            == 0) {
        result = blob_jpeg_done;
        write_all(pipe, packed, packed_count);
        *width = shown.width;
        *height = shown.height;
    }
    if (packed != NULL) functions.tjFree(packed);
    if (handle != NULL) functions.tjDestroy(handle);
    free(shown.bytes);
    return result;
}
