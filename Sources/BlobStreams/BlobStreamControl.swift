/// The part of a ``BlobInputStream`` that may be handed to other threads and tasks.
///
/// The stream object itself is Foundation's, and stays with its owner. Every member may be called on any thread.
public struct BlobStreamControl: Sendable {
    let engine: BlobStreamEngine

    /// The facts about the stream, to be read and observed.
    public var state: BlobObservable<BlobStreamState> { self.engine.state }

    /// Ends the stream as a cancellation does: a read that waits returns -1, with ``BlobError/Code/cancelled``.
    public func cancel() { self.engine.cancel() }

    /// Has reading begin or go on at an offset; see ``BlobInputStream/setProperty(_:forKey:)``.
    ///
    /// - Parameter byteOffset: In bytes, from 0 to the length.
    /// - Returns: False when the offset is refused, and then nothing has changed.
    @discardableResult
    public func setOffset(_ byteOffset: Int64) -> Bool { self.engine.setOffset(byteOffset) }
}
