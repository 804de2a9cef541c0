#define _GNU_SOURCE
#include "CHelper.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#ifdef __APPLE__
#include <mach-o/dyld.h>
#endif

int blob_start_helper(
    const char *path, char *const arguments[], char *const environment[], int socket, int memory, pid_t *process) {
    // Numbers above the target descriptors, so that none is overwritten before it is copied.
    int sources[2] = {fcntl(socket, F_DUPFD_CLOEXEC, 8), fcntl(memory, F_DUPFD_CLOEXEC, 8)};
    int error = sources[0] < 0 || sources[1] < 0 ? errno : 0;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    if (error == 0) {
        sigset_t all, none;
        sigfillset(&all);
        sigemptyset(&none);
        posix_spawn_file_actions_init(&actions);
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDWR, 0);
        posix_spawn_file_actions_adddup2(&actions, 0, 1);
        posix_spawn_file_actions_adddup2(&actions, 0, 2);
        posix_spawn_file_actions_adddup2(&actions, sources[0], blob_helper_socket);
        posix_spawn_file_actions_adddup2(&actions, sources[1], blob_helper_memory);
        posix_spawnattr_init(&attributes);
        posix_spawnattr_setsigdefault(&attributes, &all);
        posix_spawnattr_setsigmask(&attributes, &none);
        posix_spawnattr_setpgroup(&attributes, 0);
        short flags = POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETPGROUP;
#ifdef __APPLE__
        flags |= POSIX_SPAWN_CLOEXEC_DEFAULT;
#endif
        posix_spawnattr_setflags(&attributes, flags);
        error = posix_spawn(process, path, &actions, &attributes, arguments, environment);
        posix_spawnattr_destroy(&attributes);
        posix_spawn_file_actions_destroy(&actions);
    }
    for (int place = 0; place < 2; place += 1) {
        if (sources[place] >= 0) close(sources[place]);
    }
    return error;
}

int blob_end_helper(pid_t process, int *status) {
    // A process that already ended keeps its own status; a process that does not end by itself is not waited for.
    kill(process, SIGKILL);
    int state = 0;
    *status = -1;
    while (waitpid(process, &state, 0) < 0) {
        if (errno != EINTR) return 0;
    }
    if (WIFSIGNALED(state)) return WTERMSIG(state);
    *status = WEXITSTATUS(state);
    return 0;
}

void blob_kill_helper(pid_t process) { kill(process, SIGKILL); }

int64_t blob_processor_time(pid_t process) {
#ifdef __linux__
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
#else
    (void)process;
    return -1;
#endif
}

int blob_make_sockets(int sockets[2], int milliseconds) {
#ifdef SOCK_CLOEXEC
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets) != 0) return errno;
#else
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, sockets) != 0) return errno;
    for (int place = 0; place < 2; place += 1) fcntl(sockets[place], F_SETFD, FD_CLOEXEC);
#endif
#ifdef SO_NOSIGPIPE
    int on = 1;
    for (int place = 0; place < 2; place += 1) setsockopt(sockets[place], SOL_SOCKET, SO_NOSIGPIPE, &on, sizeof on);
#endif
    struct timeval limit = {milliseconds / 1000, (milliseconds % 1000) * 1000};
    setsockopt(sockets[0], SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    setsockopt(sockets[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
    return 0;
}

int blob_make_pipe(int ends[2]) {
#ifdef __linux__
    return pipe2(ends, O_CLOEXEC) == 0 ? 0 : errno;
#else
    if (pipe(ends) != 0) return errno;
    for (int place = 0; place < 2; place += 1) fcntl(ends[place], F_SETFD, FD_CLOEXEC);
    return 0;
#endif
}

int blob_await_output(int pipe, int socket) {
    struct pollfd both[2] = {{pipe, POLLIN, 0}, {socket, POLLIN, 0}};
    if (poll(both, 2, 100) <= 0) return 0;
    return (both[0].revents != 0 ? blob_pipe_ready : 0) | (both[1].revents != 0 ? blob_socket_ready : 0);
}

ssize_t blob_read(int descriptor, void *bytes, size_t count) {
    ssize_t result;
    do {
        result = read(descriptor, bytes, count);
    } while (result < 0 && errno == EINTR);
    return result;
}

int blob_make_shared_memory(size_t byte_count) {
#ifdef __linux__
    int descriptor = memfd_create("helper", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (descriptor < 0) return -1;
    if (ftruncate(descriptor, (off_t)byte_count) == 0
        && fcntl(descriptor, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) == 0)
        return descriptor;
#else
    // Named only for a moment. The system allows the size to be set only once.
    char name[32];
    snprintf(name, sizeof name, "/blob.%08x", (unsigned)arc4random());
    int descriptor = shm_open(name, O_RDWR | O_CREAT | O_EXCL, 0600);
    if (descriptor < 0) return -1;
    shm_unlink(name);
    fcntl(descriptor, F_SETFD, FD_CLOEXEC);
    if (ftruncate(descriptor, (off_t)byte_count) == 0) return descriptor;
#endif
    int error = errno;
    close(descriptor);
    errno = error;
    return -1;
}

const char *blob_executable_path(void) {
    static char path[PATH_MAX];
#ifdef __APPLE__
    char given[PATH_MAX];
    uint32_t count = sizeof given;
    return _NSGetExecutablePath(given, &count) == 0 ? realpath(given, path) : NULL;
#else
    return realpath("/proc/self/exe", path);
#endif
}
