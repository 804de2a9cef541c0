import Foundation

/// Where a user's caches are kept, and the folder above that has to be there already.
struct UserCacheFolder: Equatable {
    let path: String
    let root: String
}

#if canImport(Darwin)
    /// The user's folder for caches; nil when the user has no home.
    func userCacheFolder(_ variable: (String) -> String?) -> UserCacheFolder? {
        absolute(variable("HOME")).map { UserCacheFolder(path: "\($0)/Library/Caches", root: $0) }
    }
#else
    /// The user's folder for caches, by the XDG Base Directory Specification; nil when the user has no home.
    func userCacheFolder(_ variable: (String) -> String?) -> UserCacheFolder? {
        absolute(variable("XDG_CACHE_HOME")).map { UserCacheFolder(path: $0, root: $0) }
            ?? absolute(variable("HOME")).map { UserCacheFolder(path: "\($0)/.cache", root: $0) }
    }
#endif

/// A variable of the environment of this process.
func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// The specification has relative paths ignored.
private func absolute(_ path: String?) -> String? {
    guard var path, path.hasPrefix("/") else { return nil }
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
}
