import BlobPlatform

/// The folder of a user's caches, and the parent folder that must already exist.
struct UserCacheFolder {
    let path: String
    let root: String

    private init(path: String, root: String) { (self.path, self.root) = (path, root) }

    /// Finds the user's cache folder; returns nil if the environment determines none.
    ///
    /// - Parameter variable: A closure that returns the value of an environment variable.
    init?(_ variable: (String) -> String? = { getenv($0).map { String(cString: $0) } }) {
        let home = Self.absolute(variable("HOME"))
        #if canImport(Darwin)
        guard let home else { return nil }
        self.init(path: "\(home)/Library/Caches", root: home)
        #else
        // XDG Base Directory Specification. A cache folder named by the variable is created with its parent folders.
        if let caches = Self.absolute(variable("XDG_CACHE_HOME")) {
            self.init(path: caches, root: "/")
        } else if let home {
            self.init(path: "\(home)/.cache", root: home)
        } else {
            return nil
        }
        #endif
    }

    /// Returns an absolute path without trailing slashes; nil for a relative path, which the specification ignores.
    private static func absolute(_ path: String?) -> String? {
        guard var path, path.hasPrefix("/") else { return nil }
        while path.count > 1, path.hasSuffix("/") { path.removeLast() }
        return path
    }
}
