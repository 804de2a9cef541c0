import Foundation

#if os(Linux)
    /// A number of the status of this process, as proc(5) has it.
    private func statusNumber(_ name: String) -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
        return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
    }

    func threadCount() -> Int { statusNumber("Threads") }

    /// Resident bytes, which the heap is part of: an upper bound for it.
    func residentByteCount() -> Int { statusNumber("VmRSS") * 1024 }
#else
    func threadCount() -> Int {
        var (threads, count) = (thread_act_array_t?.none, mach_msg_type_number_t(0))
        task_threads(mach_task_self_, &threads, &count)
        return Int(count)
    }

    func residentByteCount() -> Int {
        var statistics = malloc_statistics_t()
        malloc_zone_statistics(nil, &statistics)
        return Int(statistics.size_in_use)
    }
#endif
