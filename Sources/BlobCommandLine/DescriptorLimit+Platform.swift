import BlobPlatform

#if canImport(Darwin)
private let descriptorLimit = RLIMIT_NOFILE
#else
private let descriptorLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#endif

/// Raises this process's limit on open descriptors to `count`, or as far as the system allows. Never lowers the limit.
///
/// - Returns: The number of descriptors that the process may open.
@discardableResult
package func raiseDescriptorLimit(to count: Int) -> Int {
    var limit = rlimit()
    guard getrlimit(descriptorLimit, &limit) == 0, limit.rlim_cur < rlim_t(count) else { return count }
    limit.rlim_cur = min(rlim_t(count), limit.rlim_max)
    _ = setrlimit(descriptorLimit, &limit)
    return Int(clamping: limit.rlim_cur)
}
