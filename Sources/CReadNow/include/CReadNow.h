#pragma once

#include <sys/types.h>

/// Reads what is in the page cache at `offset`, as `pread(2)` does otherwise; -1 and `errno`, which is EAGAIN when the
/// read would have to wait for a device, and EOPNOTSUPP or ENOSYS where the file system, the kernel or the platform
/// cannot tell.
///
/// `preadv2(2)` with `RWF_NOWAIT`, which Swift does not see: a GNU extension.
ssize_t blob_read_now(int descriptor, void *buffer, size_t count, off_t offset);
