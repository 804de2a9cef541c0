extension BlobInputStreamDataSource {
    /// Opens a guarded pass over the bytes: the one door for everything that takes a source.
    ///
    /// The guard enforces the contract of ``BlobReader``: a plugin that breaks it is reported as
    /// ``BlobError/Code/misbehavingPlugin`` instead of passing on wrong bytes. The reader reads with or without waiting;
    /// every error is a ``BlobError`` with operation, locator, offset and layers.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset of the first byte to read: 0, the default, to the byte count.
    ///   - validator: The identity that the content must have; nil, the default, accepts any.
    ///   - context: The terms of the job, kept for the reader's life.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an offset past the end (from the first read when the byte count
    ///   is not known), ``BlobError/Code/changed`` when the content has another identity, and the errors of the source.
    public func open(
        at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> BlobGuardedReader {
        try BlobGuardedReader(self, at: byteOffset, matching: validator, context: context)
    }

    /// Returns the facts known about the blob now. May block.
    ///
    /// - Throws: A ``BlobError`` with operation, locator and layers.
    public func info(_ context: BlobContext = BlobContext()) throws(BlobError) -> BlobInfo {
        do {
            try context.check()
            return try self.describe(context)
        } catch {
            throw BlobError(wrapping: error)
                .passing(layer: self.layerName, operation: "info", locator: self.locator?.description)
        }
    }

    /// A short name for the path of layers in errors: that of the type, without its generic arguments.
    package var layerName: String {
        (self as? any NamedLayer)?.layer ?? String(describing: Self.self).prefix { $0 != "<" }.description
    }
}

/// A source that stands for another one in errors.
package protocol NamedLayer: BlobInputStreamDataSource {
    /// The name of the layer in errors.
    var layer: String { get }
}
