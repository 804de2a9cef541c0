import BlobCore
import BlobDeflate
import BlobPlatform

/// The decoded bytes of consecutive slices, and the state that shows whether the next batch continues them.
struct DecodedBatch: Sendable {
    /// The state of decoding at the next restart point.
    struct End: Sendable {
        /// The sum of the frame that contains the point; without the bytes before the batch if ``isPartial`` is
        /// true.
        let sum: FrameSum
        let isPartial: Bool
        /// The end of the frame within which the batch began.
        let remainder: FrameDecoder.Remainder?
        /// The first bytes after the point, decoded by continuing past it: as many as its window can influence.
        let ahead: [UInt8]
    }

    /// The number of correct bytes after which a window has no influence: references of deflate data reach 32 KiB back.
    static let overlapByteCount = Inflater.windowByteCount

    let slices: Range<Int>
    let buffer: Window
    /// The state after the slices; nil when decoding did not reach the next restart point as the index describes it.
    let end: End?

    /// Returns true when the batch begins with `bytes`, as far as it has that many.
    func begins(with bytes: [UInt8]) -> Bool {
        let own = self.buffer.bytes
        let count = min(own.count, bytes.count)
        let begins = bytes.withUnsafeBytes { bytes in
            guard let left = own.baseAddress, let right = bytes.baseAddress else { return true }
            return memcmp(left, right, count) == 0
        }
        guard begins, count < bytes.count else { return begins }
        guard let ahead = self.end?.ahead else { return false }
        return ahead.starts(with: bytes.dropFirst(count).prefix(ahead.count))
    }
}

/// A mismatch between an index and the bytes that it should describe.
struct IndexMismatch: Error {
    let error: BlobError
}

extension Error {
    /// True when the cause is the bytes or the index, and not the access to them.
    var isContentError: Bool {
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
