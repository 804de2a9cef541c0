import Foundation

#if os(Linux)
/// A number of the status of a process, as proc(5) has it.
private func statusNumber(_ name: String, of process: String = "self") -> Int {
    let status = (try? String(contentsOfFile: "/proc/\(process)/status", encoding: .utf8)) ?? ""
    let line = status.split(separator: "\n").first { $0.hasPrefix("\(name):") }
    return line?.split(whereSeparator: \.isWhitespace).dropFirst().first.flatMap { Int($0) } ?? 0
}

/// The number of threads of this process.
package func threadCount() -> Int { statusNumber("Threads") }

/// An upper bound of the bytes of the heap in use: the resident bytes of the process.
package func heapByteCount() -> Int { statusNumber("VmRSS") * 1024 }

/// The resident bytes of another process.
package func residentByteCount(ofProcess number: Int32) -> Int { statusNumber("VmRSS", of: "\(number)") * 1024 }

/// The folder with an entry for each descriptor of this process.
private let descriptorFolder = "/proc/self/fd"

/// The bytes of the heap in use, of all threads, as malloc_info(3) has them; 0 where it is not there.
package func allocatedByteCount() -> Int {
    // In a header that Swift does not import.
    typealias Function = @convention(c) (CInt, UnsafeMutablePointer<FILE>) -> CInt
    guard let function = dlsym(nil, "malloc_info").map({ unsafeBitCast($0, to: Function.self) }) else { return 0 }
    var (text, count) = (UnsafeMutablePointer<CChar>?.none, 0)
    guard let stream = open_memstream(&text, &count) else { return 0 }
    _ = function(0, stream)
    fclose(stream)
    defer { free(text) }
    // The lines after those of the arenas are the sums.
    let sums = text.map { String(cString: $0) }?.components(separatedBy: "</heap>").last ?? ""
    func size(_ kind: String) -> Int {
        let line = sums.split(separator: "\n").first { $0.contains(kind) }
        return line.flatMap { $0.components(separatedBy: "size=\"").last?.split(separator: "\"").first }
            .flatMap { Int($0) } ?? 0
    }
    return size("system type=\"current\"") + size("type=\"mmap\"") - size("type=\"fast\"") - size("type=\"rest\"")
}
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

/// The resident bytes of another process: unknown.
package func residentByteCount(ofProcess number: Int32) -> Int { 0 }

/// The folder with an entry for each descriptor of this process.
private let descriptorFolder = "/dev/fd"

/// The bytes of the heap in use, of all zones.
package func allocatedByteCount() -> Int { heapByteCount() }
#endif

/// The number of open descriptors of this process, with the one that counts them.
package func descriptorCount() -> Int {
    (try? FileManager.default.contentsOfDirectory(atPath: descriptorFolder))?.count ?? 0
}
