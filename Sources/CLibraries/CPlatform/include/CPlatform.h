#pragma once

// Calls of the system that Swift's module of the C library leaves out.

#include <sys/types.h>

#if __has_include(<sys/epoll.h>)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

/// Names the calling thread for debuggers. Linux takes at most 15 bytes.
void blob_name_thread(const char *name);

/// Returns the calling thread's identifier for `blob_thread_waits`.
int blob_thread_id(void);

/// Returns 0 for a thread of this process that runs or is ready to run, 1 for one that waits for anything but a
/// processor, as `/proc/self/task` or Apple's `thread_info` tells; -1 when the system does not say.
int blob_thread_waits(int id);

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

/// Opens an existing file beneath a folder, through no symbolic link, with `openat2(2)`.
///
/// Returns -1 and sets `errno` on failure: ELOOP for a symbolic link anywhere in the path; EXDEV for a path that leads
/// out of the folder; ENOSYS, or EPERM in some containers, where the system has no such call.
int blob_open_beneath(int folder, const char *path, int flags);

/// Creates a file without a name in a folder, for writing, with `O_TMPFILE` of `open(2)`: it is gone when its last
/// descriptor is closed, however the process ends.
///
/// Returns -1 and sets `errno` on failure: EOPNOTSUPP, EISDIR or ENOSYS where the file system or the platform has no
/// such files, or nothing could name one.
int blob_open_unnamed(int folder, const char *path, unsigned permissions);

/// Gives a file of `blob_open_unnamed` its name.
///
/// Returns -1 and sets `errno` on failure: EEXIST when the name exists.
int blob_name_unnamed(int descriptor, int folder, const char *name);
