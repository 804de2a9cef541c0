import BlobIndex
import BlobStreams

/// An index that is made while a stream is read from its beginning, and written when its end was met.
final class IndexRecording {
    let recorder: PointRecorder

    /// Whether the index was asked for, so that it is wanted whatever it costs, and errors are told.
    let isRequired: Bool

    private let file: IndexFile
    private let layer: String
    private let content: IndexedContent
    private let isReplacing: Bool
    private let eventSink: (@Sendable (BlobEvent) -> Void)?
    private let written: @Sendable () -> Void

    /// - Parameters:
    ///   - isReplacing: Whether a file that the user named may be replaced.
    ///   - written: Called when there is a new index.
    init(
        _ file: IndexFile, layer: String, content: IndexedContent, isRequired: Bool, isReplacing: Bool,
        tuning: GzipTuning, _ context: BlobContext, written: @escaping @Sendable () -> Void
    ) {
        self.recorder = PointRecorder(tuning)
        self.isReplacing = isReplacing
        self.file = file
        self.layer = layer
        self.content = content
        self.isRequired = isRequired
        self.eventSink = context.eventSink
        self.written = written
    }

    /// Writes the index.
    ///
    /// - Throws: What keeps it from being written, if it is required.
    func finish(compressedByteCount: Int64) throws(BlobError) {
        // Only what is the whole content is what the index would be found by.
        guard compressedByteCount == self.content.byteCount else { return }
        do throws(BlobError) {
            let index = try self.recorder.finish(compressedByteCount: compressedByteCount)
            let byteCount = try index.write(
                to: self.file, layer: self.layer, content: self.content, isReplacing: self.isReplacing)
            self.written()
            self.eventSink?(.indexBuilt(byteCount: byteCount))
        } catch {
            if self.isRequired { throw error }
        }
    }
}
