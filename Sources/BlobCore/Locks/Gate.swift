/// A gate that resumes one suspended task when it is opened for the first time, also before the task enters.
package final class Gate: Sendable {
    private struct State {
        var isOpen = false
        var continuation: CheckedContinuation<Void, Never>?
    }

    private let state = Locked(State())

    package init() {}

    /// Resumes `continuation` when the gate is open; at once when it already is.
    package func enter(_ continuation: CheckedContinuation<Void, Never>) {
        let isOpen = self.state.withLock { state in
            if !state.isOpen { state.continuation = continuation }
            return state.isOpen
        }
        if isOpen { continuation.resume() }
    }

    /// Opens the gate. A second call has no effect.
    package func open() {
        let continuation = self.state.withLock { state in
            state.isOpen = true
            return state.continuation.take()
        }
        continuation?.resume()
    }
}
