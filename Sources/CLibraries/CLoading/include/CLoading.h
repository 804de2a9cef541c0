#ifndef BLOB_CLOADING_H
#define BLOB_CLOADING_H

// Libraries that are loaded at first use. They are not linked, and their headers are not needed to build: programs
// start faster, and also run where the libraries are not installed.
#include <stddef.h>

/// A library: its names for `dlopen(3)`, the usual one first, and the packages that contain it.
typedef struct {
    const char *name;
    const char *file_names[3];
    const char *debian, *fedora, *alpine, *homebrew;
} blob_library;

extern const blob_library blob_libarchive, blob_libbz2, blob_libcurl, blob_libgexiv2, blob_libheif, blob_libisal,
    blob_liblzma, blob_libturbojpeg, blob_libvips, blob_libzstd;

/// Loads a library and finds its functions.
///
/// - Parameters:
///   - function_names: The names of `function_count` functions.
///   - functions: A structure of as many function pointers, which is filled; zeros after a failure.
/// - Returns: NULL on success; otherwise the reason, which names the packages of the library. It is valid until this
///   thread loads another library.
const char *blob_load(
    const blob_library *library, const char *const *function_names, size_t function_count, void *functions);

/// Returns `reason` with the packages of the library, valid until this thread loads another library.
const char *blob_explain(const blob_library *library, const char *reason);

// A list of functions is a macro `FUNCTIONS(X)` of items `X(result, name, parameters, arguments)`.

/// The prototype of a function with the prefix `blob_`.
#define BLOB_DECLARE(result, name, parameters, arguments) result blob_##name parameters;
/// The function with the prefix, which calls the loaded function.
#define BLOB_DEFINE(result, name, parameters, arguments) \
    result blob_##name parameters { return functions.name arguments; }

#define BLOB_FIELD(result, name, parameters, arguments) result(*name) parameters;
#define BLOB_NAME(result, name, parameters, arguments) #name,

/// Defines the structure `functions`, and `load_functions()`, which fills it and has the same result as `blob_load`.
#define BLOB_TABLE(library, FUNCTIONS) \
    static struct { \
        FUNCTIONS(BLOB_FIELD) \
    } functions; \
    static const char *load_functions(void) { \
        static const char *const names[] = {FUNCTIONS(BLOB_NAME)}; \
        return blob_load(&library, names, sizeof names / sizeof *names, &functions); \
    }

#endif
