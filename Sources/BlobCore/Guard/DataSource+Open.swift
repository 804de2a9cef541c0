extension BlobInputStreamDataSource {
    /// Opens a reader of the bytes. Everything that takes a source opens it here.
    ///
    /// A plugin that breaks its contract is reported as ``BlobError/Code/misbehavingPlugin`` instead of delivering wrong
    /// bytes. The reader can be read with or without waiting; every error is a ``BlobError`` with operation, locator,
    /// offset and layers.
    ///
    /// - Parameters:
    ///   - byteOffset: The offset of the first byte to read: 0, the default, to the byte count.
    ///   - validator: The identity that the content must have; nil, the default, accepts any.
    ///   - context: The context of the job, kept for the life of the reader.
    /// - Throws: ``BlobError/Code/invalidArgument`` for an offset past the end (from the first read when the byte count
    ///   is not known), ``BlobError/Code/changed`` when the content has another identity, and the errors of the source.
    public func open(
        at byteOffset: Int64 = 0, matching validator: BlobValidator? = nil, context: BlobContext = BlobContext()
    ) throws(BlobError) -> BlobReader {
        try BlobReader(self, at: byteOffset, matching: validator, context: context)
    }

    /// Opens a reader for a layer over this source, which was opened in the same way.
    package func open(_ opening: BlobOpening) throws(BlobError) -> BlobReader {
        try BlobReader(self, at: opening.byteOffset, matching: opening.validator, context: opening.context)
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

    /// The name of this source among the layers of an error: the type without generic arguments, unless a
    /// ``NamedLayer``.
    package var layerName: String {
        (self as? any NamedLayer)?.layer ?? String(describing: Self.self).prefix { $0 != "<" }.description
    }
}
