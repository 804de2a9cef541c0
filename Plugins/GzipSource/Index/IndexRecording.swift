import BlobCore
internal import BlobIndex

/// A recording of an index while a stream is read from its start; writes the index when the end is reached.
final class IndexRecording {
    let recorder: PointRecorder

    private let place: NewIndexPlace

    /// True when the index was requested: it is made whatever it costs, and errors are thrown.
    var isRequired: Bool { self.place.isRequired }

    init(_ place: NewIndexPlace, _ tuning: GzipTuning) {
        self.recorder = PointRecorder(tuning)
        self.place = place
    }

    /// Writes the index.
    ///
    /// - Throws: Errors of making and writing the index, if it is required.
    func finish(compressedByteCount: Int64) throws(BlobError) {
        // The index is looked up by the whole content, so it must be made from the whole content.
        guard compressedByteCount == self.place.content.byteCount else { return }
        try self.place.write { () throws(BlobError) in
            try self.recorder.finish(compressedByteCount: compressedByteCount).sections(layer: self.place.layer)
        }
    }
}
