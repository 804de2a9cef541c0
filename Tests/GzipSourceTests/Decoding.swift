import BlobDeflate
import BlobStreams
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
    var outcome = Outcome()
    do {
        let reader = try source.open(at: byteOffset)
        defer { reader.close() }
        var piece = [UInt8](repeating: 0, count: pieceByteCount)
        while case let count = try piece.withUnsafeMutableBytes({ try reader.readWaiting(into: $0) }), count > 0 {
            outcome.bytes.append(contentsOf: piece.prefix(count))
        }
    } catch {
        outcome.error = BlobError(wrapping: error)
    }
    return outcome
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
