package import BlobCore

/// A section to write.
package struct NewIndexSection {
    /// A function that takes the next bytes of a payload, in pieces of any size.
    package typealias Sink = (UnsafeRawBufferPointer) throws(BlobError) -> Void

    package let key: IndexSection.Key
    package let flags: IndexSection.Flags
    let produce: (Sink) throws(BlobError) -> Void

    /// Creates a section of any length, which is never held in memory as a whole.
    ///
    /// - Parameter produce: Called once with the sink of the bytes; an error from it ends the writing, and no file is
    ///   left.
    package init(
        _ key: IndexSection.Key, flags: IndexSection.Flags = [],
        produce: @escaping (_ sink: Sink) throws(BlobError) -> Void
    ) {
        self.key = key
        self.flags = flags
        self.produce = produce
    }

    /// Creates a section of `bytes`.
    package init(_ key: IndexSection.Key, flags: IndexSection.Flags = [], bytes: [UInt8]) {
        self.init(key, flags: flags, chunks: [bytes])
    }

    /// Creates a section of `chunks`, one after the other.
    package init(_ key: IndexSection.Key, flags: IndexSection.Flags = [], chunks: [[UInt8]]) {
        self.init(key, flags: flags) { sink throws(BlobError) in
            for chunk in chunks {
                try chunk.withBytes { bytes throws(BlobError) in try sink(bytes) }
            }
        }
    }

    /// Creates a section of the whole content of a file, such as an unlinked temporary file that collected a long
    /// payload.
    ///
    /// - Parameter descriptor: Readable at offsets; owned by the caller, and open until the section is written.
    /// - Throws: Errors of `fstat(2)`.
    package init(
        _ key: IndexSection.Key, flags: IndexSection.Flags = [], contentsOf descriptor: CInt
    ) throws(BlobError) {
        let file = try IndexDescriptor(borrowing: descriptor)
        self.init(key, flags: flags) { sink throws(BlobError) in
            try file.forEachChunk(in: 0..<file.byteCount) { chunk throws(BlobError) in
                try chunk.withBytes { bytes throws(BlobError) in try sink(bytes) }
            }
        }
    }
}
