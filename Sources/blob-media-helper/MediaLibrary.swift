internal import CGexiv2
internal import CVips
internal import HelperExchange
internal import MediaExchange

/// The library of a task, loaded and started.
struct MediaLibrary {
    /// The number of threads that decode one picture.
    private static let threadCount: CInt = 2

    /// The version of the library, or the reason why it cannot be used.
    let version: Result<String, MediaFailure>

    init(_ task: MediaTask) {
        let reason =
            switch task {
            case .pictures: blob_vips_load(Self.threadCount)
            case .facts: blob_gexiv2_load()
            }
        guard let reason else {
            // libgexiv2 does not tell its version.
            self.version = .success(task == .pictures ? String(cString: blob_vips_version_string()) : "")
            return
        }
        let (name, package) = task.library
        self.version = .failure(
            MediaFailure(
                .unavailable,
                "\(name) cannot be loaded (Debian's package is \(package)): \(String(cString: reason))"))
    }
}
