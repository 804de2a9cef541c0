import BlobStreams

/// The places between the members of a gzip that decoding came by, so that the next reader of the same content can begin
/// there.
///
/// Found by decoding from the start, never by what headers say of lengths. Kept by one source, for as long as it is there.
final class MemberStarts: Sendable {
    private struct State {
        var validator: BlobValidator?
        /// In order.
        var points: [RestartPoint] = []
    }

    private let state = Locked(State())

    /// The nearest; a point takes 24 bytes.
    private static let spacing: Int64 = 1 << 20

    /// Notes a place, unless it is near another one, or the content cannot be told from another.
    func append(_ point: RestartPoint, in validator: BlobValidator?) {
        guard let validator else { return }
        self.state.withLock { state in
            if state.validator != validator { state = State(validator: validator) }
            guard point.byteOffset >= (state.points.last?.byteOffset ?? 0) + Self.spacing else { return }
            state.points.append(point)
        }
    }

    /// The last place in front of a byte.
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
