import Foundation

#if canImport(Darwin)
private let descriptorLimit = RLIMIT_NOFILE
#else
private let descriptorLimit = __rlimit_resource_t(RLIMIT_NOFILE.rawValue)
#endif

/// Sets how many descriptors this process may have open, at most what the system allows; returns how many it was.
package func setDescriptorLimit(_ count: UInt) -> UInt {
    var limit = rlimit()
    getrlimit(descriptorLimit, &limit)
    let old = limit.rlim_cur
    limit.rlim_cur = min(rlim_t(count), limit.rlim_max)
    setrlimit(descriptorLimit, &limit)
    return UInt(old)
}
