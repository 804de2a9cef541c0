#if os(Linux)
import BlobCore
import Foundation

private func setAddressSpaceLimit(_ byteCount: rlim_t) {
    var limit = rlimit()
    getrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
    limit.rlim_cur = min(byteCount, limit.rlim_max)
    setrlimit(__rlimit_resource_t(RLIMIT_AS.rawValue), &limit)
}

/// The bytes of address space that this process has, as proc(5) has it.
private func addressSpace() throws -> rlim_t {
    let words = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
    return rlim_t(words.first.flatMap { UInt64($0) } ?? 0) * rlim_t(sysconf(CInt(_SC_PAGESIZE)))
}

/// Runs `body` while the address space of this process has room for what it allocates, and not for the stack of a
/// thread.
package func withoutThreads<Value>(_ body: () async throws -> Value) async throws -> Value {
    setAddressSpaceLimit(try addressSpace() + 512 * 1024)
    defer { setAddressSpaceLimit(rlim_t.max) }
    guard !EventLoop.shared.isRunning else { throw BlobError(.internalError, "A thread was started.") }
    return try await body()
}
#endif
