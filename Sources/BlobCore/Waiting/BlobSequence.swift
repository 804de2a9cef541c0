/// An asynchronous sequence: the chunks or lines of a source, or the states of a ``BlobObservable``.
///
/// Each iteration is independent of the others. It has one consumer at a time, and ends once, with nil or with an
/// error.
public struct BlobSequence<Element: Sendable, Failure: Error>: AsyncSequence, Sendable {
    typealias Step = () async throws(Failure) -> Element?

    private let makeStep: @Sendable () -> Step

    /// Creates a sequence.
    ///
    /// - Parameter makeStep: A function that starts an iteration and returns the function for its next element.
    init(_ makeStep: @escaping @Sendable () -> Step) { self.makeStep = makeStep }

    /// Starts an iteration.
    public func makeAsyncIterator() -> AsyncIterator { AsyncIterator(step: self.makeStep()) }

    /// One pass over the elements; releasing it frees its resources.
    public struct AsyncIterator: AsyncIteratorProtocol {
        fileprivate let step: Step

        /// Returns the next element; nil at the end.
        public mutating func next() async throws(Failure) -> Element? { try await self.step() }
    }
}
