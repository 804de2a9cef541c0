#pragma once

// Calls of the system that Swift's module of the C library leaves out.

#include <sys/types.h>

#if __has_include(<sys/epoll.h>)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

/// Names the calling thread for debuggers. Linux takes at most 15 bytes.
void blob_name_thread(const char *name);

/// Reads the bytes at `offset` that are in the page cache, with `preadv2(2)` and `RWF_NOWAIT`; else like `pread(2)`.
///
/// Returns -1 and sets `errno` on failure: EAGAIN when the read would have to wait for a device; EOPNOTSUPP or ENOSYS
/// where the file system, the kernel or the platform has no such read.
ssize_t blob_read_now(int descriptor, void *buffer, size_t count, off_t offset);

/// Renames a file unless the new name exists: `renameat2(2)` with `RENAME_NOREPLACE`, or Apple's `renameatx_np(2)`.
/// Atomic where the file system supports that.
///
/// Returns -1 and sets `errno` on failure: EEXIST when the new name exists.
int blob_rename_new(int folder, const char *name, int new_folder, const char *new_name);
