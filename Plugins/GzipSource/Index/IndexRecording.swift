import BlobCore
internal import BlobIndex

/// A recording of an index while a stream is read from its start; writes the index when the end is reached.
final class IndexRecording {
    let recorder: PointRecorder

    private let place: NewIndexPlace?
    private let comparison: ForeignComparison?

    /// True when the index was requested: it is made whatever it costs, and errors are thrown.
    var isRequired: Bool { self.place?.isRequired ?? true }

    /// - Parameters:
    ///   - place: The place of the index; nil to write none.
    ///   - comparison: Compares the index of another tool; nil for none.
    init(_ place: NewIndexPlace?, _ tuning: GzipTuning, _ comparison: ForeignComparison? = nil) {
        self.recorder = PointRecorder(tuning, comparison)
        self.place = place
        self.comparison = comparison
    }

    /// Writes the index, unless that of another tool is wrong.
    ///
    /// - Throws: Errors of making and writing the index, if it is required.
    func finish(compressedByteCount: Int64) throws(BlobError) {
        self.comparison?.finish(compressedByteCount: compressedByteCount, byteCount: self.recorder.byteOffset)
        // The index is looked up by the whole content, so it must be made from the whole content.
        guard let place, compressedByteCount == place.content.byteCount, self.comparison?.faults.isEmpty ?? true else {
            return
        }
        try place.write { () throws(BlobError) in
            try self.recorder.finish(compressedByteCount: compressedByteCount).sections(layer: place.layer)
        }
    }
}
