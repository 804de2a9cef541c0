import BlobPlatform

/// The folder of a user's caches, and the folder above it that must exist already.
struct UserCacheFolder: Equatable {
    let path: String
    let root: String
}

#if canImport(Darwin)
    /// Returns the user's cache folder; nil when the user has no home folder.
    func userCacheFolder(_ variable: (String) -> String?) -> UserCacheFolder? {
        absolute(variable("HOME")).map { UserCacheFolder(path: "\($0)/Library/Caches", root: $0) }
    }
#else
    /// Returns the user's cache folder (XDG Base Directory Specification); nil when the user has no home folder.
    func userCacheFolder(_ variable: (String) -> String?) -> UserCacheFolder? {
        // A folder that is named for caches is made with those above it, as the specification wants.
        absolute(variable("XDG_CACHE_HOME")).map { UserCacheFolder(path: $0, root: "/") }
            ?? absolute(variable("HOME")).map { UserCacheFolder(path: "\($0)/.cache", root: $0) }
    }
#endif

/// Returns the value of an environment variable of this process.
func environmentVariable(_ name: String) -> String? { getenv(name).map { String(cString: $0) } }

/// Returns an absolute path without trailing slashes; nil for a relative path, which the specification ignores.
private func absolute(_ path: String?) -> String? {
    guard var path, path.hasPrefix("/") else { return nil }
    while path.count > 1, path.hasSuffix("/") { path.removeLast() }
    return path
}
