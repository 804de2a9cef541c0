import BlobDeflate
import BlobStreams
import BlobTestSupport
import Foundation

@testable import GzipSource

/// What came out of a source, and how it ended.
struct Outcome {
    var bytes = Data()
    var error: BlobError?

    /// True when the end was reported.
    var isWhole: Bool { self.error == nil }
}

/// Reads all there is, `pieceByteCount` bytes a call.
func outcome(
    of source: any BlobInputStreamDataSource, at byteOffset: Int64 = 0, pieceByteCount: Int = 4096
) -> Outcome {
    let found = ReadingOutcome(source, at: byteOffset, inPiecesOf: pieceByteCount)
    return Outcome(bytes: Data(found.bytes), error: found.error)
}

/// Decodes bytes in memory.
func outcome(
    decoding compressed: Data, _ format: GzipSource.Format = .gzip, pieceByteCount: Int = 4096,
    library: InflateLibrary = .isal
) -> Outcome {
    outcome(
        of: GzipSource(MemorySource(compressed), format: format, index: .none, library: library),
        pieceByteCount: pieceByteCount)
}
