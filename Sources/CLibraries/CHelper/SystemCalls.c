#define _GNU_SOURCE
#include "SystemCalls.h"

#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sched.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#ifdef __x86_64__
#define PROCESSOR AUDIT_ARCH_X86_64
#else
#define PROCESSOR AUDIT_ARCH_AARCH64
#endif

#ifndef SECCOMP_RET_KILL_PROCESS
#define SECCOMP_RET_KILL_PROCESS 0x80000000U
#endif

#define FIELD(name) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, name))
#define RETURN(value) BPF_STMT(BPF_RET | BPF_K, value)
// The next instruction runs only for this call.
#define CALL(number) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 1)
#define ALLOW(number) CALL(number), RETURN(SECCOMP_RET_ALLOW)
#define FAIL(number) CALL(number), RETURN(SECCOMP_RET_ERRNO | EPERM)
// The low halves of arguments come first on both processors.
#define ARGUMENT(place) offsetof(struct seccomp_data, args) + 8 * (place)
// Refuses executable memory: the third argument is the protection.
#define ALLOW_WITHOUT_CODE(number) \
    BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##number, 0, 4), \
    BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(2)), \
    BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1), \
    RETURN(SECCOMP_RET_ERRNO | EPERM), RETURN(SECCOMP_RET_ALLOW)

/// Appends instructions to a filter.
#define APPEND(filter, count, more) \
    (memcpy((filter) + (count), more, sizeof more), (count) + sizeof more / sizeof more[0])

bool blob_allow_system_calls(enum blob_needs needs) {
    struct sock_filter head[] = {
        FIELD(arch),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, PROCESSOR, 1, 0),
        RETURN(SECCOMP_RET_KILL_PROCESS),
        FIELD(nr),
#ifdef __x86_64__
        // The system call numbers of x32.
        BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, 0x40000000, 0, 1),
        RETURN(SECCOMP_RET_KILL_PROCESS),
#endif
    };
    struct sock_filter files[] = {
        ALLOW(recvmsg), ALLOW(fstat), ALLOW(lseek), ALLOW(pread64), ALLOW(dup), ALLOW(readv),
        // For a descriptor, not a name: the fourth argument has the flags.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_newfstatat, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(3)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, AT_EMPTY_PATH, 0, 1),
        RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_ERRNO | EPERM),
        // Threads, but no processes; the C library falls back from `clone3`, whose flags a filter cannot inspect.
        CALL(clone3), RETURN(SECCOMP_RET_ERRNO | ENOSYS),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
        BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 0, 1),
        RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS),
        ALLOW(set_robust_list), ALLOW(rseq), ALLOW(sched_getaffinity), ALLOW(sched_getparam),
        ALLOW(sched_getscheduler), ALLOW(getuid), ALLOW(geteuid), ALLOW(getcpu), ALLOW(getrusage), FAIL(prctl), FAIL(sched_setattr),
        FAIL(sched_setscheduler), FAIL(sched_getattr), FAIL(sched_setaffinity),
        // GLib's log checks where its output goes.
        FAIL(getpeername),
    };
    struct sock_filter tail[] = {
        ALLOW(recvfrom), ALLOW(sendto),
        ALLOW(brk), ALLOW(munmap), ALLOW(mremap), ALLOW(madvise),
        ALLOW_WITHOUT_CODE(mmap), ALLOW_WITHOUT_CODE(mprotect),
        ALLOW(clock_gettime), ALLOW(gettimeofday), ALLOW(futex), ALLOW(sched_yield), ALLOW(getrandom),
        ALLOW(read), ALLOW(write), ALLOW(writev), ALLOW(close), ALLOW(sysinfo),
        ALLOW(exit), ALLOW(exit_group), ALLOW(restart_syscall), ALLOW(rt_sigreturn), ALLOW(rt_sigprocmask),
        ALLOW(rt_sigaction), ALLOW(getpid), ALLOW(getppid), ALLOW(gettid),
        // abort(3): signals only to this process.
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_tgkill, 0, 4),
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, ARGUMENT(0)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (uint32_t)getpid(), 0, 1),
        RETURN(SECCOMP_RET_ALLOW), RETURN(SECCOMP_RET_KILL_PROCESS),
#ifdef SYS_time
        ALLOW(time),
#endif
        // Conversions of names and times look for files.
        FAIL(openat), FAIL(fstat), FAIL(newfstatat), FAIL(statx), FAIL(faccessat), FAIL(readlinkat), FAIL(ioctl),
        FAIL(lseek), FAIL(fcntl), FAIL(prlimit64), FAIL(uname), FAIL(getcwd),
#ifdef SYS_open
        FAIL(open), FAIL(stat), FAIL(lstat), FAIL(access), FAIL(readlink), FAIL(getrlimit),
#endif
        RETURN(SECCOMP_RET_KILL_PROCESS),
    };
    struct sock_filter filter[sizeof head / sizeof head[0] + sizeof files / sizeof files[0] + sizeof tail / sizeof tail[0]];
    size_t count = APPEND(filter, 0, head);
    if (needs == blob_needs_files) count = APPEND(filter, count, files);
    count = APPEND(filter, count, tail);
    struct sock_fprog program = {(unsigned short)count, filter};
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return false;
    // Also applies to threads that libraries have already started.
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) == 0) return true;
    // Older kernels filter only the calls of this thread, which suffices if no other threads are started.
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) == 0 && needs == blob_needs_nothing;
}

#else

bool blob_allow_system_calls(enum blob_needs needs) { return (void)needs, false; }

#endif
