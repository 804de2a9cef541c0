#pragma once

// System calls that Swift's module of the C library omits.

#include <sys/types.h>

#if __has_include(<sys/epoll.h>)
#include <sys/epoll.h>
#include <sys/eventfd.h>
#endif

/// Names the calling thread for debuggers. Linux accepts at most 15 bytes.
void blob_name_thread(const char *name);

/// Returns the calling thread's identifier for `blob_thread_waits`.
int blob_thread_id(void);

/// Returns 0 for a thread of this process that runs or is ready to run, 1 for a thread that waits for anything but a
/// processor, as reported by `/proc/self/task` or Apple's `thread_info`; -1 if the system does not report its state.
int blob_thread_waits(int id);

/// Reads the bytes at `offset` that are in the page cache, with `preadv2(2)` and `RWF_NOWAIT`; otherwise like
/// `pread(2)`.
///
/// Returns -1 and sets `errno` on failure: EAGAIN if the read would have to wait for a device; EOPNOTSUPP or ENOSYS if
/// the file system, the kernel or the platform does not support such reads.
ssize_t blob_read_now(int descriptor, void *buffer, size_t count, off_t offset);

/// Renames a file unless the new name exists: `renameat2(2)` with `RENAME_NOREPLACE`, or Apple's `renameatx_np(2)`.
/// Atomic if the file system supports it.
///
/// Returns -1 and sets `errno` on failure: EEXIST if the new name exists.
int blob_rename_new(int folder, const char *name, int new_folder, const char *new_name);

/// Opens an existing file beneath a folder, without following symbolic links, with `openat2(2)`.
///
/// Returns -1 and sets `errno` on failure: ELOOP for a symbolic link anywhere in the path; EXDEV for a path that leads
/// out of the folder; ENOSYS, or EPERM in some containers, if the system does not support the call.
int blob_open_beneath(int folder, const char *path, int flags);

/// Creates an unnamed file in a folder, for writing, with `O_TMPFILE` of `open(2)`: it is deleted when its last
/// descriptor is closed, regardless of how the process ends.
///
/// Returns -1 and sets `errno` on failure: EOPNOTSUPP, EISDIR or ENOSYS if the file system or the platform does not
/// support such files, or cannot name them.
int blob_open_unnamed(int folder, const char *path, unsigned permissions);

/// Gives a file created by `blob_open_unnamed` its name.
///
/// Returns -1 and sets `errno` on failure: EEXIST if the name exists.
int blob_name_unnamed(int descriptor, int folder, const char *name);
