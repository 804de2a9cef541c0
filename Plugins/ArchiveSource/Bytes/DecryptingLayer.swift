import BlobCore

/// A layer whose bytes may have been encrypted in the layer below.
protocol DecryptingLayer: BlobLayer {
    /// True once the bytes turned out to be encrypted.
    var isDecrypting: Bool { get }
}

extension BlobInputStreamDataSource {
    /// True when the bytes were encrypted in this or a lower layer, so that nothing about them may be kept for readers
    /// without their password, nor in a file. Known once the source was opened.
    var isDecrypted: Bool {
        (self as? any DecryptingLayer)?.isDecrypting == true
            || (self as? any BlobLayer)?.underlying.isDecrypted ?? false
    }
}
