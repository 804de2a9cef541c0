import BlobCore

/// The windows of restart points that are damaged in an index file, as learned by decoding past their points.
///
/// They make the damage cost what decoding up to them costs, once for a source instead of once for each reader. At most
/// 512 windows of 32 KiB are kept, which is 16 MiB; of more, those of every second, fourth, … point.
final class LearnedWindows: Sendable {
    private struct State {
        var windows: [Int: [UInt8]] = [:]
        /// The distance of the kept slices.
        var stride = 1
    }

    private let maximumCount: Int
    private let state = Locked(State())

    /// The default number of windows.
    private static let defaultMaximumCount = 512

    init(maximumCount: Int = LearnedWindows.defaultMaximumCount) { self.maximumCount = maximumCount }

    /// The number of windows that are kept.
    var count: Int { self.state.withLock { $0.windows.count } }

    /// Returns the window of a slice's restart point; nil when it was not learned.
    func window(of slice: Int) -> [UInt8]? { self.state.withLock { $0.windows[slice] } }

    /// Returns true when the window of a slice would be kept and is not known yet.
    func wants(_ slice: Int) -> Bool {
        self.state.withLock { slice % $0.stride == 0 && $0.windows[slice] == nil }
    }

    /// Keeps the window of a slice; when there are too many then, drops every second one.
    func insert(_ window: [UInt8], of slice: Int) {
        self.state.withLock { state in
            guard slice % state.stride == 0 else { return }
            state.windows[slice] = window
            while state.windows.count > self.maximumCount {
                state.stride *= 2
                let stride = state.stride
                state.windows = state.windows.filter { $0.key % stride == 0 }
            }
        }
    }
}
