#define _GNU_SOURCE
#include "CReadNow.h"

#include <errno.h>
#include <sys/uio.h>

ssize_t blob_read_now(int descriptor, void *buffer, size_t count, off_t offset) {
#ifdef RWF_NOWAIT
    // To preadv2 an offset of -1 is the position of the file.
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
