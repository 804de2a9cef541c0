#include "CLoading.h"

#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

// The number in a name is the version of the binary interface for which the calls are made.
#if defined(__APPLE__)
#define NAMES(linux, darwin) darwin
#else
#define NAMES(linux, darwin) linux
#endif
#define TWO(first, second) {first, second}
#define THREE(first, second, third) {first, second, third}

const blob_library blob_libarchive = {
    "libarchive", {NAMES("libarchive.so.13", "libarchive.2.dylib")},
    .debian = "libarchive13", .fedora = "libarchive", .alpine = "libarchive", .homebrew = "libarchive"};
const blob_library blob_libbz2 = {
    "libbz2", NAMES(TWO("libbz2.so.1.0", "libbz2.so.1"), {"libbz2.1.0.dylib"}),
    .debian = "libbz2-1.0", .fedora = "bzip2-libs", .alpine = "libbz2", .homebrew = "bzip2"};
// The second name is Debian's build with GnuTLS; the third is for systems with another version numbering.
const blob_library blob_libcurl = {
    "libcurl", NAMES(THREE("libcurl.so.4", "libcurl-gnutls.so.4", "libcurl.so"), TWO("libcurl.4.dylib", "libcurl.dylib")),
    .debian = "libcurl4", .fedora = "libcurl", .alpine = "libcurl", .homebrew = "curl"};
const blob_library blob_libgexiv2 = {
    "libgexiv2", {NAMES("libgexiv2.so.2", "libgexiv2.2.dylib")},
    .debian = "libgexiv2-2", .fedora = "libgexiv2", .alpine = "gexiv2", .homebrew = "gexiv2"};
const blob_library blob_libheif = {
    "libheif", {NAMES("libheif.so.1", "libheif.1.dylib")},
    .debian = "libheif1", .fedora = "libheif", .alpine = "libheif", .homebrew = "libheif"};
const blob_library blob_libisal = {
    "ISA-L", {NAMES("libisal.so.2", "libisal.2.dylib")},
    .debian = "libisal2", .fedora = "isa-l", .alpine = "isa-l", .homebrew = "isa-l"};
const blob_library blob_liblzma = {
    "liblzma", {NAMES("liblzma.so.5", "liblzma.5.dylib")},
    .debian = "liblzma5", .fedora = "xz-libs", .alpine = "xz-libs", .homebrew = "xz"};
const blob_library blob_libturbojpeg = {
    "libturbojpeg", {NAMES("libturbojpeg.so.0", "libturbojpeg.0.dylib")},
    .debian = "libturbojpeg0", .fedora = "turbojpeg", .alpine = "libturbojpeg", .homebrew = "jpeg-turbo"};
const blob_library blob_libvips = {
    "libvips", {NAMES("libvips.so.42", "libvips.42.dylib")},
    .debian = "libvips42", .fedora = "vips", .alpine = "vips", .homebrew = "vips"};
const blob_library blob_libzstd = {
    "libzstd", {NAMES("libzstd.so.1", "libzstd.1.dylib")},
    .debian = "libzstd1", .fedora = "libzstd", .alpine = "zstd-libs", .homebrew = "zstd"};

static _Thread_local char message[1024];

const char *blob_explain(const blob_library *library, const char *reason) {
    // The reason may be in the buffer.
    char copy[640];
    (void)snprintf(copy, sizeof copy, "%s", reason);
    (void)snprintf(
        message, sizeof message, "%s (its package is %s in Debian, %s in Fedora, %s in Alpine and %s in Homebrew)", copy,
        library->debian, library->fedora, library->alpine, library->homebrew);
    return message;
}

const char *blob_load(
    const blob_library *library, const char *const *function_names, size_t function_count, void *functions) {
    const size_t name_count = sizeof library->file_names / sizeof *library->file_names;
    void *file = NULL;
    for (size_t i = 0; file == NULL && i < name_count && library->file_names[i] != NULL; i++)
        file = dlopen(library->file_names[i], RTLD_NOW | RTLD_LOCAL);
    if (file == NULL) {
        // Produces the error message for the usual name.
        (void)dlopen(library->file_names[0], RTLD_NOW | RTLD_LOCAL);
        return blob_explain(library, dlerror());
    }
    for (size_t i = 0; i < function_count; i++) {
        void *function = dlsym(file, function_names[i]);
        if (function == NULL) {
            memset(functions, 0, function_count * sizeof function);
            char reason[128];
            (void)snprintf(reason, sizeof reason, "it is too old: it has no %s", function_names[i]);
            return blob_explain(library, reason);
        }
        memcpy((char *)functions + i * sizeof function, &function, sizeof function);
    }
    return NULL;
}
