import BlobCore

/// The decoding of compressed bytes on one thread.
final class GzipDecoder: BlobTransform {
    private let job: DecodingJob
    private let info: BlobInfo
    private var decoder: FrameDecoder
    private var byteCount: Int64 = 0

    /// - Parameters:
    ///   - start: A position before a header, at which the input begins.
    ///   - info: The info of the decoded bytes.
    init(_ job: DecodingJob, at start: RestartPoint, info: BlobInfo) throws(BlobError) {
        self.job = job
        self.info = info
        self.decoder = try job.makeDecoder(at: start)
    }

    func info(of base: BlobInfo) -> BlobInfo { self.info }

    func step(_ input: inout RawSpan, isLast: Bool, into output: inout OutputRawSpan) throws -> BlobStep {
        let start = output.byteCount
        defer { self.byteCount += Int64(output.byteCount - start) }
        let rest = try input.withUnsafeBytes { bytes throws(BlobError) in
            var rest = bytes
            try self.decoder.decode(&rest, into: &output)
            return rest.count
        }
        input = input.extracting(last: rest)
        guard output.freeCapacity > 0 else { return .full }
        guard isLast else { return .needsInput }
        try self.decoder.flush(into: &output)
        // The bytes are delivered before the checks at the end.
        guard output.byteCount == start else { return .full }
        try self.decoder.finish()
        try self.job.end(compressedByteCount: self.decoder.byteOffset, byteCount: self.byteCount)
        return .end
    }
}
