/// The value of a ``BlobObservable`` as it is, then as it is after each change.
///
/// Each iteration sees every value once and in order. Values wait for a consumer that is slow, however many they are,
/// but those that the rule of the observable lets be coalesced, of which the latest waits for all. An iteration ends
/// with nil: after a value that is the last by the rule of the observable, when the observable was released and all
/// that waited was taken, or at once, for good, when its task is cancelled.
///
/// Neither this nor an iterator keeps the observable alive.
public struct BlobStates<State: Equatable & Sendable>: AsyncSequence, Sendable {
    private let core: ObservableCore<State>

    init(_ core: ObservableCore<State>) { self.core = core }

    /// Starts an iteration, with the value as it is now.
    public func makeAsyncIterator() -> AsyncIterator {
        let queue = self.core.addQueue()
        return AsyncIterator(queue: queue, observation: BlobObservation(of: queue, by: self.core))
    }

    /// One pass over the values; its release ends the observation.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let queue: StateQueue<State>
        fileprivate let observation: BlobObservation

        /// The next value, as soon as there is one; nil at the end.
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
