import Foundation

#if canImport(Darwin)
/// Returns the number of threads of the process.
func threadCount() -> Int {
    var (threads, count) = (thread_act_array_t?.none, mach_msg_type_number_t(0))
    task_threads(mach_task_self_, &threads, &count)
    return Int(count)
}

private let openFiles = RLIMIT_NOFILE
#else
/// Returns the number of threads of the process.
func threadCount() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
}

private let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#endif

/// Raises the limit of open files to its maximum.
func raiseDescriptorLimit() {
    var limit = rlimit()
    getrlimit(openFiles, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(openFiles, &limit)
}
