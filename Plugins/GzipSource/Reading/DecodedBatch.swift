import BlobInflate
import BlobStreams
import Foundation

/// The decoded bytes of some slices in a row, and what tells whether those behind them follow on them.
struct DecodedBatch: Sendable {
    /// The state of decoding in front of the next restart point.
    struct End: Sendable {
        /// The sum of the frame that is open there; without the bytes in front of the batch when the next field says so.
        let sum: FrameSum
        let lacksBeginning: Bool
        /// The end of the frame that the batch began within.
        let remainder: FrameDecoder.Remainder?
        /// The first bytes behind the point, decoded by going on: as many as its window has any influence on.
        let ahead: [UInt8]
    }

    /// References of deflate data reach 32 KiB back: behind as many right bytes, a window has nothing to say any more.
    static let overlapByteCount = Inflater.windowByteCount

    let slices: Range<Int>
    let buffer: SliceBuffer
    /// Nil when decoding did not come by the next restart point as the index has it.
    let end: End?

    /// Whether the batch begins with `bytes`, as far as it has so many.
    func begins(with bytes: [UInt8]) -> Bool {
        let (begins, count) = self.buffer.withBytes { own in
            bytes.withUnsafeBytes { bytes in
                let count = min(own.count, bytes.count)
                guard let left = own.baseAddress, let right = bytes.baseAddress else { return (true, count) }
                return (memcmp(left, right, count) == 0, count)
            }
        }
        guard begins, count < bytes.count else { return begins }
        guard let ahead = self.end?.ahead else { return false }
        return ahead.starts(with: bytes.dropFirst(count).prefix(ahead.count))
    }
}

/// A disagreement between an index and the bytes that it is said to be of.
struct IndexMismatch: Error {
    let error: BlobError
}

extension Error {
    /// Whether the reason lies in the bytes, or in the index by which they were found; and not in getting at them.
    var isAboutContent: Bool {
        switch self {
        case is IndexMismatch: true
        case let error as BlobError:
            [
                .corrupted, .truncated, .checksumMismatch, .sizeMismatch, .trailingData, .unsupported, .limitExceeded,
            ].contains(error.code)
        default: false
        }
    }
}
