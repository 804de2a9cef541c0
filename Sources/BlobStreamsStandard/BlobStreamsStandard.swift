@_exported import BlobStandardSources
@_exported import BlobStreams
