#if BLOBSTREAMS_ASSET_LIBRARY
    @_exported import AssetLibrarySource
#endif
