import BlobCore

/// The sum of the bytes of all parts.
final class PartProgress: Sendable {
    private struct State {
        var byteCount: Int64?
        var sum: Int64 = 0
        var counts: [Int: Int64] = [:]
    }

    private let state = Locked(State())
    private let handler: (@Sendable (Int64, Int64?) -> Void)?

    init(_ handler: (@Sendable (Int64, Int64?) -> Void)?) { self.handler = handler }

    func begin(_ byteCount: Int64?) { self.state.withLock { $0.byteCount = byteCount } }

    /// Notes the number of bytes of a part.
    func note(_ number: Int, _ count: Int64) {
        guard let handler else { return }
        let (sum, byteCount) = self.state.withLock { state in
            state.sum += count - (state.counts.updateValue(count, forKey: number) ?? 0)
            return (state.sum, state.byteCount)
        }
        handler(sum, byteCount)
    }
}
