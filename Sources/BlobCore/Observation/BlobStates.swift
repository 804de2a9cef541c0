/// An asynchronous sequence of the current value of a ``BlobObservable`` and of its value after each change.
///
/// Each iteration sees every value once and in order. Values wait for a slow consumer without limit, except those that
/// the rule of the observable coalesces, of which only the latest waits. An iteration ends with nil: after a value that
/// is the last by the rule of the observable, after the observable was released and all waiting values were taken, or,
/// when its task is cancelled, at once and permanently.
///
/// Neither the sequence nor an iterator keeps the observable alive.
public struct BlobStates<State: Equatable & Sendable>: AsyncSequence, Sendable {
    private let core: ObservableCore<State>

    init(_ core: ObservableCore<State>) { self.core = core }

    /// Starts an iteration with the current value.
    public func makeAsyncIterator() -> AsyncIterator {
        let queue = self.core.addQueue()
        return AsyncIterator(queue: queue, observation: BlobObservation(of: queue, by: self.core))
    }

    /// One pass over the values; its release ends the observation.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let queue: StateQueue<State>
        fileprivate let observation: BlobObservation

        /// Returns the next value, as soon as there is one; nil at the end.
        public mutating func next() async -> State? {
            let queue = self.queue
            let state = await withTaskCancellationHandler {
                await withCheckedContinuation { queue.resume($0) }
            } onCancel: {
                queue.cancel()
            }
            if state == nil { self.observation.cancel() }
            return state
        }
    }
}
