#define _GNU_SOURCE
#include "CPlatform.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/stat.h>
#include <sys/uio.h>

void blob_name_thread(const char *name) {
#ifdef __APPLE__
    pthread_setname_np(name);
#else
    pthread_setname_np(pthread_self(), name);
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
    // The file system has no exclusive rename. Names hold a UUID, so no such file appears between check and rename.
    struct stat status;
    if (fstatat(new_folder, new_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, new_folder, new_name);
}
