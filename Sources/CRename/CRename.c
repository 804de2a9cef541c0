#define _GNU_SOURCE
#include "CRename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/stat.h>

int blob_rename_new(int folder, const char *name, int new_folder, const char *new_name) {
#ifdef __APPLE__
    int result = renameatx_np(folder, name, new_folder, new_name, RENAME_EXCL);
#else
    int result = renameat2(folder, name, new_folder, new_name, RENAME_NOREPLACE);
#endif
    if (result == 0 || (errno != EINVAL && errno != ENOSYS && errno != ENOTSUP)) return result;
    // A file system that cannot: names hold a UUID, so that nothing comes between the look and the renaming.
    struct stat status;
    if (fstatat(new_folder, new_name, &status, AT_SYMLINK_NOFOLLOW) == 0) {
        errno = EEXIST;
        return -1;
    }
    return renameat(folder, name, new_folder, new_name);
}
