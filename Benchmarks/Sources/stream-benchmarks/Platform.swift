import Foundation

#if canImport(Darwin)
    /// How many threads the process has.
    func threadCount() -> Int {
        var (threads, count) = (thread_act_array_t?.none, mach_msg_type_number_t(0))
        task_threads(mach_task_self_, &threads, &count)
        return Int(count)
    }

    private let openFiles = RLIMIT_NOFILE
#else
    /// How many threads the process has.
    func threadCount() -> Int {
        (try? FileManager.default.contentsOfDirectory(atPath: "/proc/self/task").count) ?? 0
    }

    private let openFiles = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#endif

/// Lets the process open as many files as it may.
func raiseDescriptorLimit() {
    var limit = rlimit()
    getrlimit(openFiles, &limit)
    limit.rlim_cur = limit.rlim_max
    setrlimit(openFiles, &limit)
}
