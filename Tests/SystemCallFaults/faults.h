// What the failures of calls and of memory share.
#include <stdatomic.h>
#include <stdint.h>

/// The outcome, which survives the end of the program, and for which a confined program needs no call.
struct outcome {
    _Atomic uint64_t count;
    _Atomic uint64_t failed;
    /// The name of the call that failed first; that of the library in which a call for memory failed first.
    char call[48];
    /// The name of the library in which the program crashed; of those that are told apart only.
    char crash[48];
};

// The programs have names of their own.
#pragma GCC visibility push(hidden)

extern struct outcome *outcome;
extern enum mode { ONCE, ON, STORM, SHORT, UNCACHED, MEMORY, MEMORY_ON } mode;
/// True once calls count.
extern _Atomic int counts;

/// Counts a call; returns true for one that fails.
int is_hit(const char *call, int is_once);

/// From now on, a crash is noted in the outcome.
void notice_crashes(void);

#pragma GCC visibility pop
