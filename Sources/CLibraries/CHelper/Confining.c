#define _GNU_SOURCE
#include "CHelper.h"
#include "SystemCalls.h"

#include <errno.h>
#include <fcntl.h>
#ifdef __GLIBC__
#include <iconv.h>
#endif
#ifdef __linux__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BLOB_SANITIZED 1
#endif
#endif

/// A backstop, in seconds of processor time: the process that started the helper has limits for each step.
static const rlim_t processor_time = 24 * 60 * 60;

/// The number of files that a helper may have open at once, if it receives any; libraries duplicate them.
static const rlim_t file_count = 16;

static pid_t starter;

_Noreturn void blob_refuse(const char *text) {
    fputs(text, stderr);
    _exit(64);
}

_Noreturn void blob_exit(int status) { _exit(status); }

int blob_is_helper(void) {
    int type = 0;
    socklen_t count = sizeof type;
    if (getsockopt(blob_helper_socket, SOL_SOCKET, SO_TYPE, &type, &count) != 0 || type != SOCK_STREAM) return 0;
    if (fcntl(blob_helper_memory, F_GETFD) < 0) return 0;
    starter = getppid();
    long limit = sysconf(_SC_OPEN_MAX);
#if defined(__linux__) && defined(SYS_close_range)
    if (syscall(SYS_close_range, blob_helper_memory + 1, ~0u, 0) == 0) return 1;
#endif
    for (int descriptor = blob_helper_memory + 1; descriptor < limit; descriptor += 1) close(descriptor);
    return 1;
}

/// Returns true if the limit is in effect.
static bool limit(int resource, rlim_t value) {
    struct rlimit both;
    if (getrlimit(resource, &both) != 0) return false;
    if (both.rlim_max == RLIM_INFINITY || both.rlim_max > value) both.rlim_max = value;
    both.rlim_cur = both.rlim_max;
    return setrlimit(resource, &both) == 0;
}

/// The address space in use, in bytes; 0 if unknown.
static size_t address_space(void) {
    unsigned long pages = 0;
    FILE *file = fopen("/proc/self/statm", "re");
    if (file == NULL) return 0;
    if (fscanf(file, "%lu", &pages) != 1) pages = 0;
    fclose(file);
    return pages * (size_t)sysconf(_SC_PAGESIZE);
}

// An idle helper ends when its socket does; this check is for a helper that is computing. A parent-death signal would
// come at the end of the thread that started the helper.
static void check_starter(int number) {
    (void)number;
    if (getppid() != starter) _exit(0);
}

void blob_load_conversion(const char *name) {
#ifdef __GLIBC__
    // The C library keeps the module of a descriptor that is never closed.
    (void)iconv_open("UTF-8", name);
#else
    (void)name;
#endif
}

int blob_confine(size_t byte_count, enum blob_needs needs) {
    // Without TZ, each conversion of a time would look up the zone in the file system.
    if (getenv("TZ") == NULL) setenv("TZ", ":/etc/localtime", 1);
    tzset();
    free(malloc(1));
#ifdef __GLIBC__
    // Each further arena reserves address space, which is limited.
    mallopt(M_ARENA_MAX, 1);
#endif
    // Crash handlers installed by the Swift runtime would start another program.
    static const int crashes[] = {SIGSEGV, SIGBUS, SIGILL, SIGFPE, SIGABRT, SIGTRAP, SIGQUIT};
    for (size_t place = 0; place < sizeof crashes / sizeof crashes[0]; place += 1) signal(crashes[place], SIG_DFL);
    struct sigaction action;
    memset(&action, 0, sizeof action);
    action.sa_handler = check_starter;
    action.sa_flags = SA_RESTART;
    sigaction(SIGPROF, &action, NULL);
    struct itimerval second = {{1, 0}, {1, 0}};
    setitimer(ITIMER_PROF, &second, NULL);
    (void)limit(RLIMIT_CORE, 0);
    (void)limit(RLIMIT_CPU, processor_time);
    bool has_files = limit(RLIMIT_FSIZE, 0);
#ifndef BLOB_SANITIZED
    size_t used = address_space();
    bool has_memory = used > 0 && limit(RLIMIT_AS, used + byte_count);
    has_files = limit(RLIMIT_NOFILE, blob_helper_memory + 1 + (needs == blob_needs_files ? file_count : 0)) && has_files;
    return (has_memory ? blob_confines_memory : 0) | (has_files ? blob_confines_files : 0)
        | (blob_allow_system_calls(needs) ? blob_confines_calls : 0);
#else
    (void)byte_count, (void)needs, (void)address_space, (void)has_files;
    return blob_confines_memory | blob_confines_files | blob_confines_calls;
#endif
}

#ifdef DEBUG
int blob_fault(const char *fault, const char *moment) {
    const char *colon = fault == NULL ? NULL : strchr(fault, ':');
    if (colon == NULL || strcmp(colon + 1, moment) != 0) return 0;
    size_t count = (size_t)(colon - fault);
    if (strncmp(fault, "crash", count) == 0) raise(SIGSEGV);
    if (strncmp(fault, "exit", count) == 0) _exit(3);
    if (strncmp(fault, "sleep", count) == 0) {
        char byte;
        if (blob_receive(blob_helper_socket, &byte, 1) <= 0) _exit(0);
    }
    if (strncmp(fault, "memory", count) == 0) {
        size_t step = 1 << 20;
        for (char *more = malloc(step); more != NULL; more = malloc(step)) memset(more, 1, step);
        return 1;
    }
    if (strncmp(fault, "loop", count) == 0) {
        for (volatile unsigned number = 0;; number += 1) continue;
    }
    if (strncmp(fault, "open", count) == 0 && open("/etc/passwd", O_RDONLY) < 0) raise(SIGUSR1);
    if (strncmp(fault, "socket", count) == 0) (void)socket(AF_INET, SOCK_STREAM, 0);
    if (strncmp(fault, "execute", count) == 0) execl("/bin/true", "true", NULL);
    if (strncmp(fault, "code", count) == 0
        && mmap(NULL, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        raise(SIGUSR1);
    return 0;
}
#else
int blob_fault(const char *fault, const char *moment) { return (void)fault, (void)moment, 0; }
#endif
