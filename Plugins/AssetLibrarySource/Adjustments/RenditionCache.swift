#if Photos
import BlobCore

/// A cache of the last rendered picture, in which concurrent requests for a picture share one rendering.
final class RenditionCache: Sendable {
    /// The default maximum size in bytes of a picture that is cached.
    static let defaultByteLimit = 32 << 20

    /// The time between deadline checks of a job that waits for another job.
    private static let interval = Duration.seconds(1)

    private struct State {
        var lastRendition: (key: Rendering.Key, rendition: Rendition)?
        var waiters: [Rendering.Key: [WaitSignal]] = [:]
        var rendererVersion: String?
        var byteLimit = RenditionCache.defaultByteLimit
    }

    private enum Step {
        case use(Rendition)
        case render
        case wait(WaitSignal)
    }

    private let state = Locked(State())

    /// The version of the renderer; nil until a renderer has run.
    var rendererVersion: String? {
        get { self.state.withLock { $0.rendererVersion } }
        set { self.state.withLock { $0.rendererVersion = newValue } }
    }

    /// The maximum size in bytes of a picture that is cached; settable for tests.
    var byteLimit: Int {
        get { self.state.withLock { $0.byteLimit } }
        set { self.state.withLock { $0.byteLimit = newValue } }
    }

    /// Returns the picture with a key, rendering it unless it is cached or another job is rendering it.
    ///
    /// - Throws: Errors thrown by `render`; errors from the context while waiting for another job.
    func rendition(
        _ key: Rendering.Key, _ context: BlobContext, _ render: () throws(BlobError) -> Rendition
    ) throws(BlobError) -> Rendition {
        while true {
            try context.check()
            switch self.state.withLock({ self.step(key, &$0) }) {
            case .use(let rendition): return rendition
            case .wait(let signal):
                let registration = context.cancellation.onCancel { signal.signal() }
                _ = signal.wait(for: Self.interval)
                registration.cancel()
            case .render:
                let result = Result { () throws(BlobError) in try render() }
                let waiters = self.state.withLock { state in
                    if case .success(let rendition) = result { state.lastRendition = (key, rendition) }
                    return state.waiters.removeValue(forKey: key) ?? []
                }
                for waiter in waiters { waiter.signal() }
                return try result.get()
            }
        }
    }

    private func step(_ key: Rendering.Key, _ state: inout State) -> Step {
        if let last = state.lastRendition, last.key == key { return .use(last.rendition) }
        guard state.waiters[key] != nil else {
            state.waiters[key] = []
            return .render
        }
        let signal = WaitSignal()
        state.waiters[key]?.append(signal)
        return .wait(signal)
    }
}
#endif
