package import BlobCore

/// The place of an index that is recorded while a stream is read from its start.
package struct NewIndexPlace: Sendable {
    let file: IndexFile
    /// The layer of the sections of the index.
    package let layer: String
    /// The content that the index is made from.
    package let content: IndexedContent
    /// True when the index was requested, or its file was named: it is made whatever it costs, and errors are thrown.
    package let isRequired: Bool
    let isReplacing: Bool
    let base: any BlobInputStreamDataSource
    let context: BlobContext
    let written: @Sendable () -> Void

    /// Writes the index, and the section that proves the content of copies.
    ///
    /// - Parameter makeSections: Returns the sections, and their length in bytes.
    /// - Throws: Errors of making and writing the index, if it is required.
    package func write(
        _ makeSections: () throws(BlobError) -> (sections: [NewIndexSection], byteCount: Int64)
    ) throws(BlobError) {
        do throws(BlobError) {
            let (sections, byteCount) = try makeSections()
            let proof = try self.file.proof(of: self.content, self.base, layer: self.layer, self.context)
            try self.file.write(sections + proof, for: self.content, isReplacing: self.isReplacing)
            self.written()
            self.context.eventSink?(BlobEvent(.indexBuilt, byteCount))
        } catch {
            if self.isRequired { throw error }
        }
    }
}
