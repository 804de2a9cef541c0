import BlobCore

/// The positions between members of a gzip that decoding has reached, at which later readers of the same content can
/// begin.
///
/// The positions are found by decoding from the start, never from the lengths in headers. They live as long as their
/// source.
final class MemberStarts: Sendable {
    private struct State {
        var validator: BlobValidator?
        /// The positions in ascending order.
        var points: [RestartPoint] = []
    }

    private let state = Locked(State())

    /// The smallest distance of two positions in decoded bytes; a position takes 40 bytes of memory.
    private static let spacing: Int64 = 1 << 20

    /// Adds a position, unless it is too near to the last one, or the content has no validator.
    func append(_ point: RestartPoint, in validator: BlobValidator?) {
        guard let validator else { return }
        self.state.withLock { state in
            if state.validator != validator { state = State(validator: validator) }
            guard point.byteOffset >= (state.points.last?.byteOffset ?? 0) + Self.spacing else { return }
            state.points.append(point)
        }
    }

    /// Returns the last known position at or before a decoded byte; the start when there is none.
    func last(before byteOffset: Int64, in validator: BlobValidator?) -> RestartPoint {
        self.state.withLock { state in
            guard validator != nil, state.validator == validator else { return .start }
            var (low, high) = (0, state.points.count)
            while low < high {
                let middle = (low + high) / 2
                if state.points[middle].byteOffset <= byteOffset { low = middle + 1 } else { high = middle }
            }
            return low == 0 ? .start : state.points[low - 1]
        }
    }
}
