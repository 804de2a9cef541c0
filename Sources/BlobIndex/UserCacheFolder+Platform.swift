import Foundation

#if canImport(Darwin)
    /// Where this user's caches are kept; nil when the user has no home.
    func userCacheFolder() -> String? {
        absolutePath(inVariable: "HOME").map { "\($0)/Library/Caches" }
    }
#else
    /// Where this user's caches are kept, by the XDG Base Directory Specification; nil when the user has no home.
    func userCacheFolder() -> String? {
        absolutePath(inVariable: "XDG_CACHE_HOME") ?? absolutePath(inVariable: "HOME").map { "\($0)/.cache" }
    }
#endif

/// The specification has relative paths ignored.
private func absolutePath(inVariable name: String) -> String? {
    guard let value = getenv(name) else { return nil }
    let path = String(cString: value)
    return path.hasPrefix("/") ? path : nil
}
