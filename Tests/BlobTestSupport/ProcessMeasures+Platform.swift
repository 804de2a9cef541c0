import Foundation

#if os(Linux)
    /// A number of the status of this process, as proc(5) has it.
    private func statusNumber(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
    }

    /// The number of threads of this process.
    package func threadCount() -> Int { statusNumber("Threads") }

    /// An upper bound of the bytes of the heap in use: the resident bytes of the process.
    package func heapByteCount() -> Int { statusNumber("VmRSS") * 1024 }
#else
    /// The number of threads of this process.
    package func threadCount() -> Int {
        var (threads, count) = (thread_act_array_t?.none, mach_msg_type_number_t(0))
        task_threads(mach_task_self_, &threads, &count)
        return Int(count)
    }

    /// The bytes of the heap in use, of all zones.
    package func heapByteCount() -> Int {
        var statistics = malloc_statistics_t()
        malloc_zone_statistics(nil, &statistics)
        return Int(statistics.size_in_use)
    }
#endif
