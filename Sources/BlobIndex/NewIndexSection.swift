internal import BlobStreams

/// A section to be written.
package struct NewIndexSection {
    /// Takes the next bytes of a payload; a few at a time is fine.
    package typealias Sink = (UnsafeRawBufferPointer) throws(BlobError) -> Void

    package let key: IndexSection.Key
    package let flags: IndexSection.Flags
    let produce: (Sink) throws(BlobError) -> Void

    /// A section of any length, which is never held in memory.
    ///
    /// - Parameter produce: Called once with what takes the bytes; what it throws ends the writing, and nothing is left.
    package init(
        _ key: IndexSection.Key, flags: IndexSection.Flags = [],
        produce: @escaping (_ sink: Sink) throws(BlobError) -> Void
    ) {
        self.key = key
        self.flags = flags
        self.produce = produce
    }

    /// A section of these bytes.
    package init(_ key: IndexSection.Key, flags: IndexSection.Flags = [], bytes: [UInt8]) {
        self.init(key, flags: flags, chunks: [bytes])
    }

    /// A section of these bytes, one after the other.
    package init(_ key: IndexSection.Key, flags: IndexSection.Flags = [], chunks: [[UInt8]]) {
        self.init(key, flags: flags) { sink throws(BlobError) in
            for chunk in chunks {
                try chunk.withBytes { bytes throws(BlobError) in try sink(bytes) }
            }
        }
    }
}
