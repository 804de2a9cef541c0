// Makes the system calls of a program fail: run.py builds it and loads it into programs with LD_PRELOAD.
//
// FAULTS_FILE     a file of a page of zeros, which tells the outcome: see struct outcome
// FAULTS_PROGRAM  the file name of the executable that is meant; others are left alone
// FAULTS_FROM     the calls count from the first one with a path that contains this; without it, from the start
// FAULTS_MODE     once: the call number FAULTS_AT fails; on: that one and each behind it; storm: two of three calls are
//                 interrupted, as far as a signal may interrupt them; short: a call transfers FAULTS_AT bytes at most;
//                 uncached: no page of a file is in the page cache; memory and memory-on: as once and on, but of the
//                 calls by which libraries in C get memory
// FAULTS_ERROR    the error number; 0 is the one that is typical of the call
// FAULTS_SPARED   calls that do not fail, with a blank around each
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "faults.h"

struct outcome *outcome;
enum mode mode;
_Atomic int counts;
static const char *modes[] = {"once", "on", "storm", "short", "uncached", "memory", "memory-on"};
static uint64_t at;
static int number;
static const char *from, *spared;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("FAULTS_FILE"), *program = getenv("FAULTS_PROGRAM"), *word = getenv("FAULTS_MODE");
    if (!path || !word || (program && strcmp(program, program_invocation_short_name) != 0)) return;
    while (mode < MEMORY_ON && strcmp(modes[mode], word) != 0) mode += 1;
    at = getenv("FAULTS_AT") ? strtoull(getenv("FAULTS_AT"), NULL, 10) : 0;
    number = getenv("FAULTS_ERROR") ? atoi(getenv("FAULTS_ERROR")) : 0;
    from = getenv("FAULTS_FROM");
    spared = getenv("FAULTS_SPARED");
    counts = from == NULL;
    int file = open(path, O_RDWR | O_CLOEXEC);
    void *page = mmap(NULL, sizeof *outcome, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    if (file < 0 || page == MAP_FAILED) abort();
    close(file);
    outcome = page;
    if (mode >= MEMORY) notice_crashes();
}

static void see(const char *path) {
    if (outcome && !counts && path && strstr(path, from)) counts = 1;
}

int is_hit(const char *call, int is_once) {
    uint64_t place = atomic_fetch_add(&outcome->count, 1) + 1;
    if (is_once ? place != at : place < at) return 0;
    if (atomic_fetch_add(&outcome->failed, 1) == 0) strncpy(outcome->call, call, sizeof outcome->call - 1);
    return 1;
}

enum { ALWAYS, MAY_BE_INTERRUPTED };

/// The error number with which a call fails now; 0 when it does not.
static int fault(const char *call, int typical, int kind) {
    if (!outcome || !counts || mode > STORM) return 0;
    if (mode == STORM && kind != MAY_BE_INTERRUPTED) return 0;
    if (spared) {
        char word[64];
        snprintf(word, sizeof word, " %s ", call);
        if (strstr(spared, word)) return 0;
    }
    if (mode == STORM) {
        // Scattered: a loop of three calls would never come further.
        uint64_t place = atomic_fetch_add(&outcome->count, 1) * UINT64_C(0x9E3779B97F4A7C15);
        if ((place >> 32) % 3 == 2) return 0;
        atomic_fetch_add(&outcome->failed, 1);
        return EINTR;
    }
    return !is_hit(call, mode == ONCE) ? 0 : number ? number : typical;
}

/// As many bytes as a call may transfer.
static size_t most(size_t count) {
    if (!outcome || !counts || mode != SHORT || count <= at) return count;
    atomic_fetch_add(&outcome->failed, 1);
    return at;
}

#define NEXT(name)                                    \
    static __typeof__(&name) next;                    \
    if (!next) next = (__typeof__(&name))dlsym(RTLD_NEXT, #name)

#define FAIL(name, typical, kind, failure)            \
    NEXT(name);                                       \
    int error = fault(#name, typical, kind);          \
    if (error) {                                      \
        errno = error;                                \
        return failure;                               \
    }

#define CALL(type, name, parameters, arguments, typical, kind) \
    type name parameters {                            \
        FAIL(name, typical, kind, (type)-1)           \
        return next arguments;                        \
    }

#define CALL_AT(name, parameters, arguments, typical) \
    int name parameters {                             \
        see(path);                                    \
        FAIL(name, typical, ALWAYS, -1)               \
        return next arguments;                        \
    }

/// The file in which libdispatch looks at a thread, from the first second on. It traps when it cannot: a known limit.
static _Thread_local int file_of_thread = -1;

static int is_file_of_thread(const char *path) {
    return path && strncmp(path, "/proc/", 6) == 0 && strcmp(path + 6 + strspn(path + 6, "0123456789"), "/stat") == 0;
}

#define OPEN(name, parameters, ...)                   \
    int name parameters {                             \
        mode_t permissions = 0;                       \
        if (flags & (O_CREAT | __O_TMPFILE)) {        \
            va_list list;                             \
            va_start(list, flags);                    \
            permissions = (mode_t)va_arg(list, int);  \
            va_end(list);                             \
        }                                             \
        if (is_file_of_thread(path)) {                \
            NEXT(name);                               \
            return file_of_thread = next(__VA_ARGS__, flags, permissions); \
        }                                             \
        see(path);                                    \
        FAIL(name, EMFILE, MAY_BE_INTERRUPTED, -1)    \
        return next(__VA_ARGS__, flags, permissions); \
    }

OPEN(open, (const char *path, int flags, ...), path)
OPEN(open64, (const char *path, int flags, ...), path)
OPEN(openat, (int folder, const char *path, int flags, ...), folder, path)
OPEN(openat64, (int folder, const char *path, int flags, ...), folder, path)

CALL_AT(stat, (const char *restrict path, struct stat *restrict status), (path, status), EIO)
CALL_AT(lstat, (const char *restrict path, struct stat *restrict status), (path, status), EIO)
CALL_AT(stat64, (const char *restrict path, struct stat64 *restrict status), (path, status), EIO)
CALL_AT(lstat64, (const char *restrict path, struct stat64 *restrict status), (path, status), EIO)
CALL_AT(fstatat, (int folder, const char *restrict path, struct stat *restrict status, int flags),
    (folder, path, status, flags), EIO)
CALL_AT(mkdir, (const char *path, mode_t permissions), (path, permissions), ENOSPC)
CALL_AT(mkdirat, (int folder, const char *path, mode_t permissions), (folder, path, permissions), ENOSPC)
CALL(int, fstat, (int file, struct stat *status), (file, status), EIO, ALWAYS)
CALL(int, fstat64, (int file, struct stat64 *status), (file, status), EIO, ALWAYS)
CALL(int, fchmod, (int file, mode_t permissions), (file, permissions), EIO, ALWAYS)
CALL(int, futimens, (int file, const struct timespec times[2]), (file, times), EIO, ALWAYS)

#define READ(name, typical, parameters, arguments)    \
    ssize_t name parameters {                         \
        if (file == file_of_thread) {                 \
            NEXT(name);                               \
            return next arguments;                    \
        }                                             \
        FAIL(name, typical, MAY_BE_INTERRUPTED, -1)   \
        count = most(count);                          \
        return next arguments;                        \
    }

READ(read, EIO, (int file, void *data, size_t count), (file, data, count))
READ(pread, EIO, (int file, void *data, size_t count, off_t offset), (file, data, count, offset))
READ(pread64, EIO, (int file, void *data, size_t count, off64_t offset), (file, data, count, offset))
READ(pwrite, ENOSPC, (int file, const void *data, size_t count, off_t offset), (file, data, count, offset))
READ(pwrite64, ENOSPC, (int file, const void *data, size_t count, off64_t offset), (file, data, count, offset))
READ(recv, ECONNRESET, (int file, void *data, size_t count, int flags), (file, data, count, flags))
READ(send, EPIPE, (int file, const void *data, size_t count, int flags), (file, data, count, flags))

ssize_t write(int file, const void *data, size_t count) {
    // The error is reported there.
    if (file == STDERR_FILENO) {
        NEXT(write);
        return next(file, data, count);
    }
    FAIL(write, ENOSPC, MAY_BE_INTERRUPTED, -1)
    return next(file, data, most(count));
}

ssize_t preadv2(int file, const struct iovec *parts, int count, off_t offset, int flags) {
    FAIL(preadv2, EIO, MAY_BE_INTERRUPTED, -1)
    if (outcome && mode == UNCACHED) {
        atomic_fetch_add(&outcome->failed, 1);
        errno = EAGAIN;
        return -1;
    }
    struct iovec part = count > 0 ? *parts : (struct iovec){NULL, 0};
    part.iov_len = most(part.iov_len);
    return count > 0 && part.iov_len < parts->iov_len ? next(file, &part, 1, offset, flags)
                                                      : next(file, parts, count, offset, flags);
}

CALL(off_t, lseek, (int file, off_t offset, int whence), (file, offset, whence), EIO, ALWAYS)
CALL(off64_t, lseek64, (int file, off64_t offset, int whence), (file, offset, whence), EIO, ALWAYS)
CALL(void *, mmap, (void *place, size_t count, int access, int flags, int file, off_t offset),
    (place, count, access, flags, file, offset), ENOMEM, ALWAYS)
CALL(void *, mmap64, (void *place, size_t count, int access, int flags, int file, off64_t offset),
    (place, count, access, flags, file, offset), ENOMEM, ALWAYS)
CALL(int, memfd_create, (const char *name, unsigned flags), (name, flags), EMFILE, ALWAYS)
CALL(int, ftruncate, (int file, off_t count), (file, count), ENOSPC, ALWAYS)
CALL(int, ftruncate64, (int file, off64_t count), (file, count), ENOSPC, ALWAYS)
CALL(int, fsync, (int file), (file), EIO, MAY_BE_INTERRUPTED)
CALL(int, fdatasync, (int file), (file), EIO, MAY_BE_INTERRUPTED)
CALL(int, flock, (int file, int operation), (file, operation), ENOLCK, MAY_BE_INTERRUPTED)
CALL(int, poll, (struct pollfd *files, nfds_t count, int limit), (files, count, limit), ENOMEM, MAY_BE_INTERRUPTED)
CALL(int, epoll_create1, (int flags), (flags), EMFILE, ALWAYS)
CALL(int, epoll_ctl, (int loop, int operation, int file, struct epoll_event *event), (loop, operation, file, event),
    ENOMEM, ALWAYS)
CALL(int, eventfd, (unsigned value, int flags), (value, flags), EMFILE, ALWAYS)
CALL(int, rename, (const char *path, const char *other), (path, other), EIO, ALWAYS)
CALL(int, renameat, (int folder, const char *path, int second, const char *other), (folder, path, second, other), EIO,
    ALWAYS)
CALL(int, renameat2, (int folder, const char *path, int second, const char *other, unsigned flags),
    (folder, path, second, other, flags), EIO, ALWAYS)
CALL(int, socketpair, (int domain, int type, int protocol, int files[2]), (domain, type, protocol, files), EMFILE,
    ALWAYS)
CALL(int, socket, (int domain, int type, int protocol), (domain, type, protocol), EMFILE, ALWAYS)
CALL(int, connect, (int file, const struct sockaddr *address, socklen_t count), (file, address, count), ECONNREFUSED,
    ALWAYS)
CALL(int, setsockopt, (int file, int level, int name, const void *value, socklen_t count),
    (file, level, name, value, count), ENOMEM, ALWAYS)
CALL(int, getsockopt, (int file, int level, int name, void *restrict value, socklen_t *restrict count),
    (file, level, name, value, count), ENOBUFS, ALWAYS)
CALL(int, getsockname, (int file, struct sockaddr *restrict address, socklen_t *restrict count),
    (file, address, count), ENOBUFS, ALWAYS)
CALL(int, getpeername, (int file, struct sockaddr *restrict address, socklen_t *restrict count),
    (file, address, count), ENOBUFS, ALWAYS)
CALL(int, pipe2, (int ends[2], int flags), (ends, flags), EMFILE, ALWAYS)
CALL(pid_t, waitpid, (pid_t process, int *status, int options), (process, status, options), ECHILD, MAY_BE_INTERRUPTED)

/// The descriptor is closed all the same, as Linux does it.
int close(int file) {
    NEXT(close);
    // A program may close every number that there is.
    int is_spared = file >= 0 && file == file_of_thread, result = next(file);
    if (is_spared) file_of_thread = -1;
    int error = result == 0 && !is_spared ? fault("close", EIO, MAY_BE_INTERRUPTED) : 0;
    if (!error) return result;
    errno = error;
    return -1;
}

#define OPENED(type, name, parameters, arguments, typical) \
    type name parameters {                            \
        see(path);                                    \
        FAIL(name, typical, ALWAYS, NULL)             \
        return next arguments;                        \
    }

OPENED(FILE *, fopen, (const char *restrict path, const char *restrict access), (path, access), EMFILE)
OPENED(FILE *, fopen64, (const char *restrict path, const char *restrict access), (path, access), EMFILE)
OPENED(DIR *, opendir, (const char *path), (path), EMFILE)
OPENED(char *, realpath, (const char *restrict path, char *restrict found), (path, found), EIO)

struct dirent *readdir(DIR *folder) {
    FAIL(readdir, EIO, ALWAYS, NULL)
    return next(folder);
}

int pthread_create(pthread_t *restrict thread, const pthread_attr_t *restrict attributes, void *(*work)(void *),
    void *restrict argument) {
    NEXT(pthread_create);
    int error = fault("pthread_create", EAGAIN, ALWAYS);
    return error ? EAGAIN : next(thread, attributes, work, argument);
}

int posix_spawn(pid_t *restrict process, const char *restrict path, const posix_spawn_file_actions_t *actions,
    const posix_spawnattr_t *restrict attributes, char *const arguments[restrict], char *const environment[restrict]) {
    NEXT(posix_spawn);
    int error = fault("posix_spawn", EAGAIN, ALWAYS);
    return error ? error : next(process, path, actions, attributes, arguments, environment);
}
