import Foundation

#if canImport(Darwin)
    /// Bytes of the heap in use, of all zones.
    func heapByteCount() -> Int {
        var statistics = malloc_statistics_t()
        malloc_zone_statistics(nil, &statistics)
        return Int(statistics.size_in_use)
    }
#else
    /// Resident bytes of the process, which the heap is part of: what C says of its heap is not for Swift to call.
    func heapByteCount() -> Int {
        let status = (try? String(contentsOfFile: "/proc/self/status", encoding: .utf8)) ?? ""
        let line = status.split(separator: "\n").first { $0.hasPrefix("VmRSS:") }
        return 1024 * (line?.split(separator: " ").dropFirst().first.flatMap { Int($0) } ?? 0)
    }
#endif
