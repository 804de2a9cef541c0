#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#ifdef __APPLE__
#include <mach/mach.h>
#else
#include <sys/syscall.h>
#endif
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

void blob_name_thread(const char *name) {
#ifdef __APPLE__
    pthread_setname_np(name);
#else
    pthread_setname_np(pthread_self(), name);
#endif
}

int blob_thread_id(void) {
#ifdef __APPLE__
    return (int)pthread_mach_thread_np(pthread_self());
#else
    return (int)syscall(SYS_gettid);
#endif
}

int blob_thread_waits(int id) {
#ifdef __APPLE__
    thread_basic_info_data_t info;
    mach_msg_type_number_t count = THREAD_BASIC_INFO_COUNT;
    if (thread_info((thread_act_t)id, THREAD_BASIC_INFO, (thread_info_t)&info, &count) != KERN_SUCCESS) return -1;
    return info.run_state != TH_STATE_RUNNING;
#else
    char path[48], text[64];
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", id);
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return -1;
    ssize_t count = read(descriptor, text, sizeof text - 1);
    close(descriptor);
    if (count <= 0) return -1;
    // The state follows the name, which is in parentheses and may contain parentheses.
    text[count] = 0;
    const char *end = strrchr(text, ')');
    return end == NULL || end[1] == 0 ? -1 : end[2] != 'R';
#endif
}

ssize_t blob_read_now(int descriptor, void *buffer, size_t count, off_t offset) {
#ifdef RWF_NOWAIT
    // With an offset of -1, preadv2 reads at the current position of the file.
    if (offset < 0) {
        errno = EINVAL;
        return -1;
    }
    struct iovec part = {buffer, count};
    return preadv2(descriptor, &part, 1, offset, RWF_NOWAIT);
#else
    (void)descriptor, (void)buffer, (void)count, (void)offset;
    errno = ENOSYS;
    return -1;
#endif
}

int blob_rename_new(int folder, const char *name, int new_folder, const char *new_name) {
#ifdef __APPLE__
    int result = renameatx_np(folder, name, new_folder, new_name, RENAME_EXCL);
#else
    int result = renameat2(folder, name, new_folder, new_name, RENAME_NOREPLACE);
#endif
    if (result == 0 || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return result;
    // The file system does not support an exclusive rename, but may support hard links, which are exclusive.
    if (linkat(folder, name, new_folder, new_name, 0) == 0) return unlinkat(folder, name, 0);
    if (errno == EEXIST) return -1;
    // Without hard links, another process's file that appears between check and rename is lost.
    struct stat status;
    if (fstatat(new_folder, new_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, new_folder, new_name);
}

int blob_open_beneath(int folder, const char *path, int flags) {
#ifdef SYS_openat2
    struct open_how how = {.flags = (unsigned)flags, .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};
    return (int)syscall(SYS_openat2, folder, path, &how, sizeof how);
#else
    (void)folder, (void)path, (void)flags;
    errno = ENOSYS;
    return -1;
#endif
}

#ifdef O_TMPFILE
/// The path of a descriptor, which linkat(2) follows to its file.
struct descriptor_path {
    char text[32];
};

static struct descriptor_path path_of(int descriptor) {
    struct descriptor_path path;
    snprintf(path.text, sizeof path.text, "/proc/self/fd/%d", descriptor);
    return path;
}
#endif

int blob_open_unnamed(int folder, const char *path, unsigned permissions) {
#ifdef O_TMPFILE
    int descriptor = openat(folder, path, O_TMPFILE | O_WRONLY | O_CLOEXEC, permissions);
    if (descriptor < 0 || access(path_of(descriptor).text, F_OK) == 0) return descriptor;
    close(descriptor);
#else
    (void)folder, (void)path, (void)permissions;
#endif
    errno = ENOSYS;
    return -1;
}

int blob_name_unnamed(int descriptor, int folder, const char *name) {
#ifdef O_TMPFILE
    return linkat(AT_FDCWD, path_of(descriptor).text, folder, name, AT_SYMLINK_FOLLOW);
#else
    (void)descriptor, (void)folder, (void)name;
    errno = ENOSYS;
    return -1;
#endif
}
