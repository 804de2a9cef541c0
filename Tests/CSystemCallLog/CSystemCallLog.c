#include "CSystemCallLog.h"

#ifdef __linux__

#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

static int log_descriptor = -1;
static _Atomic int faults, fault_error;

void system_call_fail(int which, int error) {
    fault_error = error;
    faults = which;
}

/// Returns true when a call has to fail, and sets its error number.
static int is_fault(int fault) {
    if (!(faults & fault)) return 0;
    errno = fault_error;
    return 1;
}
static dev_t device;

__attribute__((constructor)) static void start(void) {
    const char *path = getenv("SYSTEM_CALL_LOG"), *folder = getenv("SYSTEM_CALL_LOG_FOLDER");
    struct stat status;
    if (!path || !folder || stat(folder, &status) != 0) return;
    device = status.st_dev;
    log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, path, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0644);
}

static void add(struct system_call_entry entry, const char *name, const char *other, const void *data) {
    entry.name_length = name ? (uint32_t)strlen(name) : 0;
    entry.other_name_length = other ? (uint32_t)strlen(other) : 0;
    struct iovec parts[] = {
        {&entry, sizeof entry},
        {(void *)name, entry.name_length},
        {(void *)other, entry.other_name_length},
        {(void *)data, entry.data_length},
    };
    // One write: threads do not mix.
    size_t length = sizeof entry + entry.name_length + entry.other_name_length + entry.data_length;
    if (syscall(SYS_writev, log_descriptor, parts, 4) != (long)length) abort();
}

static int is_watched(int descriptor, struct stat *status) {
    return log_descriptor >= 0 && descriptor != log_descriptor && fstat(descriptor, status) == 0
        && status->st_dev == device && (S_ISREG(status->st_mode) || S_ISDIR(status->st_mode));
}

/// The inode of the folder that a path lies in, and its last part.
static const char *place(int folder, const char *path, struct stat *status) {
    const char *slash = strrchr(path, '/');
    char parent[4096] = ".";
    if (slash) {
        size_t length = slash == path ? 1 : (size_t)(slash - path);
        if (length >= sizeof parent) abort();
        memcpy(parent, path, length);
        parent[length] = 0;
    }
    if (log_descriptor < 0 || fstatat(folder, parent, status, 0) != 0 || status->st_dev != device) return NULL;
    return slash ? slash + 1 : path;
}

static int open_logged(int folder, const char *path, int flags, mode_t mode) {
    struct stat parent, status;
    int saved = errno;
    const char *name = flags & O_CREAT ? place(folder, path, &parent) : NULL;
    int is_new = name && fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) != 0;
    errno = saved;
    int descriptor = (int)syscall(SYS_openat, folder, path, flags, mode);
    if (descriptor >= 0 && is_new && is_watched(descriptor, &status))
        add((struct system_call_entry){.kind = SYSTEM_CALL_CREATE, .inode = parent.st_ino,
                .other_inode = status.st_ino}, name, NULL, NULL);
    if (descriptor >= 0 && !is_new && flags & O_TRUNC && is_watched(descriptor, &status))
        add((struct system_call_entry){.kind = SYSTEM_CALL_TRUNCATE, .inode = status.st_ino}, NULL, NULL, NULL);
    return descriptor;
}

#define OPEN(folder)                                                                  \
    mode_t mode = 0;                                                                  \
    if (flags & O_CREAT) {                                                            \
        va_list list;                                                                 \
        va_start(list, flags);                                                        \
        mode = (mode_t)va_arg(list, int);                                             \
        va_end(list);                                                                 \
    }                                                                                 \
    return open_logged(folder, path, flags, mode);

int open(const char *path, int flags, ...) { OPEN(AT_FDCWD) }
int open64(const char *path, int flags, ...) { OPEN(AT_FDCWD) }
int openat(int folder, const char *path, int flags, ...) { OPEN(folder) }
int openat64(int folder, const char *path, int flags, ...) { OPEN(folder) }

static ssize_t written(int descriptor, const void *data, ssize_t count, off_t offset) {
    struct stat status;
    if (count > 0 && is_watched(descriptor, &status))
        add((struct system_call_entry){.kind = SYSTEM_CALL_WRITE, .inode = status.st_ino,
                .offset = offset < 0 ? lseek(descriptor, 0, SEEK_CUR) - count : offset,
                .data_length = (uint32_t)count}, NULL, NULL, data);
    return count;
}

ssize_t write(int descriptor, const void *data, size_t count) {
    return written(descriptor, data, syscall(SYS_write, descriptor, data, count), -1);
}
ssize_t pwrite(int descriptor, const void *data, size_t count, off_t offset) {
    return written(descriptor, data, syscall(SYS_pwrite64, descriptor, data, count, offset), offset);
}
ssize_t pwrite64(int descriptor, const void *data, size_t count, off_t offset) {
    return pwrite(descriptor, data, count, offset);
}

int ftruncate(int descriptor, off_t length) {
    struct stat status;
    int result = (int)syscall(SYS_ftruncate, descriptor, length);
    if (result == 0 && is_watched(descriptor, &status))
        add((struct system_call_entry){.kind = SYSTEM_CALL_TRUNCATE, .inode = status.st_ino, .offset = length},
            NULL, NULL, NULL);
    return result;
}
int ftruncate64(int descriptor, off_t length) { return ftruncate(descriptor, length); }

static int synchronised(int descriptor, int result) {
    struct stat status;
    if (result == 0 && is_watched(descriptor, &status))
        add((struct system_call_entry){.kind = SYSTEM_CALL_SYNCHRONISE, .inode = status.st_ino}, NULL, NULL, NULL);
    return result;
}

int fsync(int descriptor) { return synchronised(descriptor, (int)syscall(SYS_fsync, descriptor)); }
int fdatasync(int descriptor) { return synchronised(descriptor, (int)syscall(SYS_fdatasync, descriptor)); }

int mkdirat(int folder, const char *path, mode_t mode) {
    struct stat parent, status;
    int result = (int)syscall(SYS_mkdirat, folder, path, mode);
    const char *name = result == 0 ? place(folder, path, &parent) : NULL;
    if (name && fstatat(folder, path, &status, AT_SYMLINK_NOFOLLOW) == 0)
        add((struct system_call_entry){.kind = SYSTEM_CALL_MAKE_FOLDER, .inode = parent.st_ino,
                .other_inode = status.st_ino}, name, NULL, NULL);
    return result;
}
int mkdir(const char *path, mode_t mode) { return mkdirat(AT_FDCWD, path, mode); }

int renameat2(int from, const char *path, int to, const char *other, unsigned int flags) {
    struct stat parent, other_parent;
    if (flags && is_fault(SYSTEM_CALL_FAULT_EXCLUSIVE_RENAME)) return -1;
    int result = (int)syscall(SYS_renameat2, from, path, to, other, flags);
    if (result != 0) return result;
    const char *name = place(from, path, &parent), *other_name = place(to, other, &other_parent);
    if (name && other_name)
        add((struct system_call_entry){.kind = SYSTEM_CALL_RENAME, .inode = parent.st_ino,
                .other_inode = other_parent.st_ino}, name, other_name, NULL);
    return result;
}
int renameat(int from, const char *path, int to, const char *other) { return renameat2(from, path, to, other, 0); }
int rename(const char *path, const char *other) { return renameat2(AT_FDCWD, path, AT_FDCWD, other, 0); }

int unlinkat(int folder, const char *path, int flags) {
    struct stat parent;
    int result = (int)syscall(SYS_unlinkat, folder, path, flags);
    const char *name = result == 0 ? place(folder, path, &parent) : NULL;
    if (name)
        add((struct system_call_entry){.kind = SYSTEM_CALL_UNLINK, .inode = parent.st_ino}, name, NULL, NULL);
    return result;
}
int unlink(const char *path) { return unlinkat(AT_FDCWD, path, 0); }
int rmdir(const char *path) { return unlinkat(AT_FDCWD, path, AT_REMOVEDIR); }

int linkat(int from, const char *path, int to, const char *other, int flags) {
    if (is_fault(SYSTEM_CALL_FAULT_LINK)) return -1;
    return (int)syscall(SYS_linkat, from, path, to, other, flags);
}

int close(int descriptor) {
    int is_written = faults && (fcntl(descriptor, F_GETFL) & O_ACCMODE) != O_RDONLY;
    struct stat status;
    is_written = is_written && fstat(descriptor, &status) == 0 && S_ISREG(status.st_mode);
    int result = (int)syscall(SYS_close, descriptor);
    return result == 0 && is_written && is_fault(SYSTEM_CALL_FAULT_CLOSE) ? -1 : result;
}

void system_call_log_mark(const char *text) {
    if (log_descriptor < 0) return;
    add((struct system_call_entry){.kind = SYSTEM_CALL_MARK, .data_length = (uint32_t)strlen(text)}, NULL, NULL,
        text);
}

#else

void system_call_log_mark(const char *text) { (void)text; }
void system_call_fail(int which, int error) { (void)which, (void)error; }

#endif
