import BlobCore

/// A source that can be read again, by one reader at a time.
struct OneReaderSource: ForwardingSource {
    let base: any BlobInputStreamDataSource
    var traits: BlobTraits { .repeatable }
}
