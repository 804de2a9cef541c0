// Makes the calls fail by which libraries in C get memory: a part of faults.c. Swift traps without memory.
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <ucontext.h>

#include "faults.h"

/// Returns the file name of the library that a return address lies in; NULL when it is none that handles failures.
static const char *library(void *caller) {
    static const char *names[] = {"libarchive.", "libbz2.", "libcurl.", "libisal.", "liblzma.", "libsqlite3.", "libz.",
        "libzstd."};
    struct dl_find_object found;
    if (_dl_find_object(caller, &found) != 0) return NULL;
    const char *name = strrchr(found.dlfo_link_map->l_name, '/');
    for (size_t index = 0; name && index < sizeof names / sizeof *names; index++) {
        if (strncmp(name + 1, names[index], strlen(names[index])) == 0) return name + 1;
    }
    return NULL;
}

static void note_crash(int signal, siginfo_t *info, void *context) {
    (void)signal, (void)info;
#if defined(__x86_64__)
    void *place = (void *)((ucontext_t *)context)->uc_mcontext.gregs[REG_RIP];
#else
    void *place = (void *)((ucontext_t *)context)->uc_mcontext.pc;
#endif
    const char *name = library(place);
    if (name) strncpy(outcome->crash, name, sizeof outcome->crash - 1);
}

// The instruction is run again after the first signal, and ends the program.
void notice_crashes(void) {
    struct sigaction action = {.sa_sigaction = note_crash, .sa_flags = SA_SIGINFO | SA_RESETHAND};
    sigaction(SIGSEGV, &action, NULL);
}

static int lacks_memory(void *caller) {
    if (!outcome || !counts || mode < MEMORY) return 0;
    const char *name = library(caller);
    return name && is_hit(name, mode == MEMORY);
}

#define MEMORY(name, parameters, arguments)           \
    void *__libc_##name parameters;                   \
    void *name parameters {                           \
        if (!lacks_memory(__builtin_return_address(0))) return __libc_##name arguments; \
        errno = ENOMEM;                               \
        return NULL;                                  \
    }

MEMORY(malloc, (size_t count), (count))
MEMORY(calloc, (size_t number, size_t count), (number, count))
MEMORY(realloc, (void *place, size_t count), (place, count))
