internal import BlobStreams

/// Makes the engine of a library, and zlib's for one that is not built in.
func makeInflateEngine(_ library: InflateLibrary) throws(BlobError) -> any InflateEngine {
    switch library {
    case .zlib: try ZlibEngine()
    case .isal: ISALEngine()
    }
}

extension InflateLibrary {
    /// Those that are built in, the fastest first.
    package static let available: [InflateLibrary] = [.isal, .zlib]
}
