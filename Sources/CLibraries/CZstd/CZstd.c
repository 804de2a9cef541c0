#include "CZstd.h"

#include <dlfcn.h>

// `__typeof__` takes the prototypes from libzstd's header, so that a mismatched call does not compile.
static struct {
#define DECLARE(result, name, parameters, arguments) __typeof__(name) *name##_;
    BLOB_ZSTD_FUNCTIONS(DECLARE)
#undef DECLARE
} table;

#if defined(__APPLE__)
static const char *const library_name = "libzstd.1.dylib";
#else
static const char *const library_name = "libzstd.so.1";
#endif

const char *blob_zstd_load(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define FIND(result, name, parameters, arguments) \
    table.name##_ = (__typeof__(table.name##_))dlsym(library, #name); \
    if (table.name##_ == NULL) return "it is too old: it has no " #name;
    BLOB_ZSTD_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

#define DEFINE(result, name, parameters, arguments) \
    result blob_##name parameters { return table.name##_ arguments; }
BLOB_ZSTD_FUNCTIONS(DEFINE)
#undef DEFINE
