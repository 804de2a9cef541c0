#ifndef BLOB_CHELPER_H
#define BLOB_CHELPER_H

// System calls for a process and the helper that it starts: their constants, macros and types differ between systems,
// or Swift does not import them.

#include <errno.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/// The descriptors of the helper: its end of the socket and the shared memory.
static const int blob_helper_socket = 3, blob_helper_memory = 4;

// For the process that starts a helper.

/// Starts a program with three descriptors on /dev/null, and the two of a helper, in its own process group and with
/// default signal handling. `arguments` and `environment` end with NULL. Returns 0 or an `errno`.
int blob_start_helper(
    const char *path, char *const arguments[], char *const environment[], int socket, int memory, pid_t *process);

/// Ends a child and waits for its end. Returns the number of the signal that ended it, or 0; `status` receives its exit
/// status, or -1 if another part of the program waited for it.
int blob_end_helper(pid_t process, int *status);

/// Sends the signal that ends a process at once.
void blob_kill_helper(pid_t process);

/// The processor time of a process in milliseconds; -1 if unknown.
int64_t blob_processor_time(pid_t process);

/// Creates a pair of connected sockets; receiving from the first one fails with EAGAIN after `milliseconds`. Returns 0
/// or an `errno`.
int blob_make_sockets(int sockets[2], int milliseconds);

/// Creates unnamed shared memory, which neither side can shrink. Returns its descriptor, or -1 with `errno`.
int blob_make_shared_memory(size_t byte_count);

/// Creates a pipe that child programs do not inherit. Returns 0 or an `errno`.
int blob_make_pipe(int ends[2]);

enum { blob_pipe_ready = 1, blob_socket_ready = 2 };

/// Waits until the pipe or the socket (-1 for no socket) has bytes or is closed, for at most 100 milliseconds; returns
/// the flags of those that are ready.
int blob_await_output(int pipe, int socket);

/// Calls `read(2)`, and retries after an interruption.
ssize_t blob_read(int descriptor, void *bytes, size_t count);

/// The path of the running executable, or NULL; always valid.
const char *blob_executable_path(void);

// For both processes.

/// Maps shared memory; NULL on failure.
void *blob_map_memory(int descriptor, size_t byte_count);
/// Maps an open file for reading; NULL on failure.
void *blob_map_file(int descriptor, size_t byte_count);
void blob_unmap_memory(void *memory, size_t byte_count);

/// The maximum number of descriptors that are sent at once.
enum { blob_maximum_descriptor_count = 4 };

/// Sends all bytes, without SIGPIPE, and copies of descriptors with the first of them. Returns 0 or an `errno`.
int blob_send(int socket, const void *bytes, size_t count, const int descriptors[], int descriptor_count);

/// Receives at most `count` bytes; 0 at the end, or a negative `errno`.
ssize_t blob_receive(int socket, void *bytes, size_t count);

/// Does the same as `blob_receive`, and also receives the descriptors that arrived with the bytes. `descriptors` must
/// have space for the maximum number.
ssize_t blob_receive_with_descriptors(
    int socket, void *bytes, size_t count, int descriptors[], int *descriptor_count);

/// The `errno` of a receive that would have to wait.
static inline int blob_again(void) { return EAGAIN; }

/// Returns true if an `errno` means that the other process has ended or closed its socket.
static inline bool blob_is_end(int error) { return error == ECONNRESET || error == EPIPE; }

void blob_close(int descriptor);

/// Frees memory that a C function allocated.
void blob_free(void *memory);

/// The length of a text in bytes.
size_t blob_length(const char *text);

/// Sets a UTF-8 locale for the calling thread, permanently. If the system has none, the locale is unchanged.
void blob_use_utf8(void);

// For the helper.

/// Prints a text on standard error, and ends this process with the exit status for wrong usage.
_Noreturn void blob_refuse(const char *text);

/// Ends this process without any clean-up.
_Noreturn void blob_exit(int status);

/// Returns 1 if this process has the descriptors of a helper, and closes all others.
int blob_is_helper(void);

/// The needs of a helper beyond memory and its two descriptors.
enum blob_needs {
    /// Nothing else.
    blob_needs_nothing,
    /// Received open files for reading, pipes for its output, and threads for decoding pictures.
    blob_needs_files,
};

/// The parts of a confinement.
enum blob_confinement {
    /// A limit on memory.
    blob_confines_memory = 1,
    /// Limits on the number and the size of files.
    blob_confines_files = 2,
    /// A filter of system calls.
    blob_confines_calls = 4,
};

/// Denies this process all resources that its work does not need: memory beyond its current use and `byte_count`,
/// opening files, other programs, system calls. Ends it if it is computing while the process that started it is gone.
///
/// Returns the parts of the confinement that the system granted. Under a sanitizer, which needs the denied resources,
/// no part is requested, and all are returned.
int blob_confine(size_t byte_count, enum blob_needs needs);

/// Loads the conversion from a character set to UTF-8, whose file is inaccessible once the process is confined.
void blob_load_conversion(const char *name);

/// Injects `fault` if it names this moment: for example, `crash:block` crashes at the moment `block`. Only in debug
/// builds. Returns 1 if all memory is used up.
int blob_fault(const char *fault, const char *moment);

#endif
