import BlobCore

/// One pass over compressed bytes that uses no index, and may make one.
struct DecodingJob {
    let source: GzipSource
    /// Makes an index during the pass; nil for none.
    let recording: IndexRecording?
    let context: BlobContext

    /// Creates a decoder that begins at a position before a header.
    func makeDecoder(at point: RestartPoint = .start) throws(BlobError) -> FrameDecoder {
        var decoder = try FrameDecoder(
            self.source.format, library: self.source.library, recorder: self.recording?.recorder)
        if point.bitOffset > 0 {
            decoder.resume(at: point, firstByte: 0, window: UnsafeRawBufferPointer(start: nil, count: 0))
        }
        return decoder
    }

    /// Writes the index and reports the checks, after the format and the compressed bytes have ended together.
    ///
    /// - Parameter byteCount: The number of bytes that were decoded.
    func end(compressedByteCount: Int64, byteCount: Int64) throws(BlobError) {
        try self.recording?.finish(compressedByteCount: compressedByteCount)
        let format = self.source.format
        self.context.reportEnd(of: format.rawValue, byteCount: byteCount, check: format.checksumName)
    }
}
