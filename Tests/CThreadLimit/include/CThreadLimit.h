#pragma once

/// Makes this process fail at its end, on Linux, when more threads than `limit` are still there after some seconds: it
/// lists them by their names and by the functions of the kernel in which they wait, and exits with status 1.
///
/// In a program that links this target, the environment variable BLOBSTREAMS_THREAD_LIMIT sets the limit, with ten
/// seconds; its child processes do not inherit it.
void thread_limit_set(int limit, int seconds);
