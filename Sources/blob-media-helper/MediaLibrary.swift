internal import CGexiv2
internal import CTurboJPEG
internal import CVips
internal import HelperExchange

/// The library of a task, loaded and started.
struct MediaLibrary {
    /// The number of threads that decode one picture.
    private static let threadCount: CInt = 2

    /// The version of the library and of what else it was loaded with, or the reason why it cannot be used.
    let version: Result<String, MediaFailure>

    init(_ task: MediaTask) {
        var reason: UnsafePointer<CChar>?
        var extras = ""
        switch task {
        case .pictures:
            // Not needed, but its presence makes other bytes.
            if blob_jpeg_load() == nil { extras = " with libturbojpeg" }
            reason = blob_vips_load(Self.threadCount)
        case .smallJPEGs: reason = blob_jpeg_load()
        case .facts: reason = blob_gexiv2_load()
        }
        guard let reason else {
            // libgexiv2 does not tell its version.
            self.version = .success(task == .pictures ? String(cString: blob_vips_version_string()) + extras : "")
            return
        }
        self.version = .failure(Self.failure(task, String(cString: reason)))
    }

    private static func failure(_ task: MediaTask, _ reason: String) -> MediaFailure {
        MediaFailure(.unavailable, "\(task.library) cannot be loaded: \(reason)")
    }
}
