#pragma once

/// Makes this process fail at its end, on Linux, when more threads than this are left then: it lists them by their names
/// and what they wait for, and exits with status 1. Threads that are about to end have ten seconds to do so.
///
/// A program that links this target does so by itself when BLOBSTREAMS_THREAD_LIMIT is set, but its child processes do
/// not.
void thread_limit_set(int limit);
