#include "CBzip2.h"

#include <dlfcn.h>

// `__typeof__` takes the prototypes from libbz2's header, so that a mismatched call does not compile.
static struct {
#define DECLARE(result, name, parameters, arguments) __typeof__(name) *name##_;
    BLOB_BZIP2_FUNCTIONS(DECLARE)
#undef DECLARE
} table;

#if defined(__APPLE__)
static const char *const library_name = "libbz2.1.0.dylib";
#else
static const char *const library_name = "libbz2.so.1.0";
#endif

const char *blob_bzip2_load(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define FIND(result, name, parameters, arguments) \
    table.name##_ = (__typeof__(table.name##_))dlsym(library, #name); \
    if (table.name##_ == NULL) return "it is too old: it has no " #name;
    BLOB_BZIP2_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

#define DEFINE(result, name, parameters, arguments) \
    result blob_##name parameters { return table.name##_ arguments; }
BLOB_BZIP2_FUNCTIONS(DEFINE)
#undef DEFINE
