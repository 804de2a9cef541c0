import BlobCore
internal import BlobIndex

/// A recording of an index while a stream is read from its start; writes the index when the end is reached.
final class IndexRecording {
    let recorder: PointRecorder

    /// True when the index was requested: it is made whatever it costs, and errors are thrown.
    let isRequired: Bool

    private let file: IndexFile
    private let layer: String
    private let content: IndexedContent
    private let isReplacing: Bool
    private let eventSink: (@Sendable (BlobEvent) -> Void)?
    private let proof: () throws(BlobError) -> [NewIndexSection]
    private let written: @Sendable () -> Void

    /// - Parameters:
    ///   - isReplacing: True when a file that the user named may be replaced.
    ///   - proof: Returns the sections that prove the content of copies; called at the end.
    ///   - written: Called after the index was written.
    init(
        _ file: IndexFile, layer: String, content: IndexedContent, isRequired: Bool, isReplacing: Bool,
        tuning: GzipTuning, _ context: BlobContext, proof: @escaping () throws(BlobError) -> [NewIndexSection],
        written: @escaping @Sendable () -> Void
    ) {
        self.recorder = PointRecorder(tuning)
        self.isReplacing = isReplacing
        self.file = file
        self.layer = layer
        self.content = content
        self.isRequired = isRequired
        self.eventSink = context.eventSink
        self.proof = proof
        self.written = written
    }

    /// Writes the index.
    ///
    /// - Throws: Errors of making and writing the index, if it is required.
    func finish(compressedByteCount: Int64) throws(BlobError) {
        // The index is looked up by the whole content, so it must be made from the whole content.
        guard compressedByteCount == self.content.byteCount else { return }
        do throws(BlobError) {
            let index = try self.recorder.finish(compressedByteCount: compressedByteCount)
            let byteCount = try index.write(
                to: self.file, layer: self.layer, content: self.content, proof: try self.proof(),
                isReplacing: self.isReplacing)
            self.written()
            self.eventSink?(BlobEvent(.indexBuilt, byteCount))
        } catch {
            if self.isRequired { throw error }
        }
    }
}
