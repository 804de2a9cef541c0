import BlobCore

/// A position between two members of a gzip.
struct MemberStart: Equatable, Sendable {
    /// The offset of the member's header in the compressed data.
    var compressedByteOffset: Int64
    /// The offset of its first byte in the decoded bytes.
    var byteOffset: Int64

    /// The restart point at this position, which needs no window.
    var point: RestartPoint {
        RestartPoint(bitOffset: self.compressedByteOffset * 8, byteOffset: self.byteOffset, window: nil)
    }
}

/// The positions between members of a gzip that decoding has reached, at which later readers of the same content can
/// begin.
///
/// The positions are found by decoding from the start, never from the lengths in headers alone. They live as long as
/// their source, and take 16 bytes each: in blocked gzip one for each block, up to 65,536 of them, which is 1 MiB of
/// memory for 4 GiB of decoded bytes. Of more, every second, fourth, … is kept.
final class MemberStarts: Sendable {
    /// The identity of the content, as far as it is known without reading it.
    struct Content: Equatable, Sendable {
        let validator: BlobValidator
        let statusChangeTime: Int64?

        /// Creates the identity of the content that `info` describes; nil when it has no validator.
        init?(_ info: BlobInfo) {
            guard let validator = info.validator else { return nil }
            (self.validator, self.statusChangeTime) = (validator, info.statusChangeTime)
        }
    }

    private struct State {
        var content: Content?
        /// The positions in ascending order.
        var starts: [MemberStart] = []
        /// The smallest distance of two positions in decoded bytes.
        var spacing = MemberStarts.smallestSpacing

        /// Drops the positions that are nearer to the one before than twice the spacing, and doubles it.
        mutating func thinOut() {
            self.spacing *= 2
            let spacing = self.spacing
            var last: Int64 = 0
            self.starts.removeAll { start in
                guard start.byteOffset >= last + spacing else { return true }
                last = start.byteOffset
                return false
            }
        }
    }

    private let maximumCount: Int
    private let state = Locked(State())

    /// The smallest distance at first, in decoded bytes: half a block as `bgzip` writes them.
    private static let smallestSpacing: Int64 = 32 * 1024

    /// The default number of positions.
    private static let defaultMaximumCount = 65_536

    init(maximumCount: Int = MemberStarts.defaultMaximumCount) { self.maximumCount = maximumCount }

    /// The number of positions that are kept.
    var count: Int { self.state.withLock { $0.starts.count } }

    /// Adds positions, except those that are too near to the last one before.
    func append(_ starts: [MemberStart], in content: Content) {
        self.state.withLock { state in
            if state.content != content { state = State(content: content) }
            for start in starts where start.byteOffset >= (state.starts.last?.byteOffset ?? 0) + state.spacing {
                state.starts.append(start)
                if state.starts.count > self.maximumCount { state.thinOut() }
            }
        }
    }

    /// Returns the last known position at or before a decoded byte; nil when there is none.
    func last(before byteOffset: Int64, in content: Content) -> MemberStart? {
        self.state.withLock { state in
            guard state.content == content else { return nil }
            var (low, high) = (0, state.starts.count)
            while low < high {
                let middle = (low + high) / 2
                if state.starts[middle].byteOffset <= byteOffset { low = middle + 1 } else { high = middle }
            }
            return low == 0 ? nil : state.starts[low - 1]
        }
    }
}
