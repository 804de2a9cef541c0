import BlobCore

/// A place at which a block begins.
package struct BlockStart: Equatable, Sendable {
    /// The offset in the compressed data, in bits.
    package var bitOffset: Int64
    /// The offset of the first byte in the decoded bytes.
    package var byteOffset: Int64
    /// The state that the format needs from the data before: level and checksum so far of a bzip2 stream.
    package var detail: UInt64

    static let beginning = BlockStart(bitOffset: 0, byteOffset: 0, detail: 0)
}

/// The starts of blocks that decoding from the beginning has reached, at which later readers of the same content begin.
///
/// Up to 65,536 of them are kept, of 24 bytes each; of more, every second, fourth, … one.
final class BlockStarts: Sendable {
    private struct State {
        /// The starts in ascending order.
        var starts: [BlockStart] = []
        /// The smallest distance of two starts in decoded bytes.
        var spacing: Int64 = 64 * 1024
    }

    private static let maximumCount = 65_536
    private let state = Locked(State())

    /// Adds a start, unless it is too near to the last one, or before it.
    func append(_ start: BlockStart) {
        self.state.withLock { state in
            guard start.byteOffset >= (state.starts.last?.byteOffset ?? 0) + state.spacing else { return }
            state.starts.append(start)
            guard state.starts.count > Self.maximumCount else { return }
            state.spacing *= 2
            var last: Int64 = 0
            let spacing = state.spacing
            state.starts.removeAll { start in
                guard start.byteOffset >= last + spacing else { return true }
                last = start.byteOffset
                return false
            }
        }
    }

    /// Returns the last known start at or before a decoded byte; the beginning when there is none.
    func last(before byteOffset: Int64) -> BlockStart {
        self.state.withLock { state in
            var (low, high) = (0, state.starts.count)
            while low < high {
                let middle = (low + high) / 2
                if state.starts[middle].byteOffset <= byteOffset { low = middle + 1 } else { high = middle }
            }
            return low == 0 ? .beginning : state.starts[low - 1]
        }
    }
}
