#include "CHelper.h"

/// Takes from this process all system calls but those that its work needs; does nothing where the system or
/// the processor has no such filter. A call that is not allowed ends the process, or fails with EPERM if libraries make
/// it in vain. Returns true when the filter is in effect.
bool blob_allow_system_calls(enum blob_needs needs);
