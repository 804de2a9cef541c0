#include "CLzma.h"

#include <dlfcn.h>

// `__typeof__` takes the prototypes from liblzma's header, so that a mismatched call does not compile.
static struct {
#define DECLARE(result, name, parameters, arguments) __typeof__(name) *name##_;
    BLOB_LZMA_FUNCTIONS(DECLARE)
#undef DECLARE
} table;

#if defined(__APPLE__)
static const char *const library_name = "liblzma.5.dylib";
#else
static const char *const library_name = "liblzma.so.5";
#endif

const char *blob_lzma_load(void) {
    void *library = dlopen(library_name, RTLD_NOW | RTLD_LOCAL);
    if (library == NULL) return dlerror();
#define FIND(result, name, parameters, arguments) \
    table.name##_ = (__typeof__(table.name##_))dlsym(library, #name); \
    if (table.name##_ == NULL) return "it is too old: it has no " #name;
    BLOB_LZMA_FUNCTIONS(FIND)
#undef FIND
    return NULL;
}

#define DEFINE(result, name, parameters, arguments) \
    result blob_##name parameters { return table.name##_ arguments; }
BLOB_LZMA_FUNCTIONS(DEFINE)
#undef DEFINE
