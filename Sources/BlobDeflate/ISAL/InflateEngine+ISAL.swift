internal import BlobCore

/// Creates an engine of `library`, or of zlib when the library is not found.
func makeInflateEngine(_ library: InflateLibrary) throws(BlobError) -> any InflateEngine {
    if library == .isal, ISALEngine.isLoaded { return ISALEngine() }
    return try ZlibEngine()
}

extension InflateLibrary {
    /// The libraries that are found, the fastest first.
    package static let available: [InflateLibrary] = ISALEngine.isLoaded ? [.isal, .zlib] : [.zlib]
}
