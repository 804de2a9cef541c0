// Preloaded, has the libraries that decode faster than what is always there appear to be missing.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <stddef.h>
#include <string.h>

void *dlopen(const char *name, int flags) {
    static const char *const missing[] = {"libisal.so", "liblzma.so", "libzstd.so", "libbz2.so"};
    for (size_t i = 0; name != NULL && i < sizeof missing / sizeof *missing; i++)
        if (strncmp(name, missing[i], strlen(missing[i])) == 0) name = "/nonexistent";
    void *(*next)(const char *, int) = (void *(*)(const char *, int))dlsym(RTLD_NEXT, "dlopen");
    return next(name, flags);
}
