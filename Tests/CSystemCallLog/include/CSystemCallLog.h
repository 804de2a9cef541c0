#pragma once

#include <stdint.h>

/// One entry of the log; the bytes of both names and of the data follow it.
///
/// The log is the file that SYSTEM_CALL_LOG names; what lies on another device than the folder
/// SYSTEM_CALL_LOG_FOLDER is left out. A program that links this target has its calls, and those of its libraries,
/// written down, in the order in which they returned.
struct system_call_entry {
    uint32_t kind;
    uint32_t name_length;
    uint32_t other_name_length;
    uint32_t data_length;
    /// The file or folder; of calls with names, the folder of the first name.
    uint64_t inode;
    /// The new file or folder, or the folder of the second name.
    uint64_t other_inode;
    /// Where the data was written, or the new length.
    int64_t offset;
};

enum {
    SYSTEM_CALL_CREATE = 1,
    SYSTEM_CALL_MAKE_FOLDER,
    SYSTEM_CALL_WRITE,
    SYSTEM_CALL_TRUNCATE,
    SYSTEM_CALL_SYNCHRONISE,
    SYSTEM_CALL_RENAME,
    SYSTEM_CALL_UNLINK,
    SYSTEM_CALL_MARK,
};

enum {
    /// A file that was open for writing is closed, and `close` fails.
    SYSTEM_CALL_FAULT_CLOSE = 1,
    /// `renameat2` with flags fails, as on a file system that does not know them.
    SYSTEM_CALL_FAULT_EXCLUSIVE_RENAME = 2,
    /// `linkat` fails.
    SYSTEM_CALL_FAULT_LINK = 4,
};

/// Makes calls of this process fail with an error number from now on; 0 ends it. Does nothing on other systems than
/// Linux.
void system_call_fail(int faults, int error);

/// Writes a line of the program's own into the log.
void system_call_log_mark(const char *text);
