import BlobCore

#if BLOBSTREAMS_UPLOADS
    @_exported import HTTPSource
    @_exported import S3Source
#endif

extension BlobRegistry {
    /// The providers that need libcurl.
    static var web: [BlobProvider] {
        #if BLOBSTREAMS_UPLOADS
            [HTTPSource.provider, S3Source.provider]
        #else
            []
        #endif
    }
}
