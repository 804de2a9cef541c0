import BlobStreams

#if BLOBSTREAMS_UPLOADS
    @_exported import HTTPSource
#endif

extension BlobRegistry {
    /// The providers that need libcurl.
    static var web: [BlobProvider] {
        #if BLOBSTREAMS_UPLOADS
            [HTTPSource.provider]
        #else
            []
        #endif
    }
}
