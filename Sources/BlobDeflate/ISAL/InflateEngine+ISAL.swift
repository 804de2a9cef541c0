internal import BlobCore

/// Creates an engine of `library`, or of zlib when the library is not built in.
func makeInflateEngine(_ library: InflateLibrary) throws(BlobError) -> any InflateEngine {
    switch library {
    case .zlib: try ZlibEngine()
    case .isal: ISALEngine()
    }
}

extension InflateLibrary {
    /// The libraries that are built in, the fastest first.
    package static let available: [InflateLibrary] = [.isal, .zlib]
}
