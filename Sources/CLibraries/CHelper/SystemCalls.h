#include "CHelper.h"

/// Denies this process all system calls except those that its work needs; does nothing if the system or the processor
/// does not support such a filter. A denied call ends the process, or fails with EPERM if libraries make it and
/// tolerate the failure. Returns true if the filter is in effect.
bool blob_allow_system_calls(enum blob_needs needs);
