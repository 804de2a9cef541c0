/// A handle to a ``BlobInputStream`` that may be passed to other threads and tasks.
///
/// The stream object itself is a Foundation class and stays with its owner. Every member may be called on any thread.
public struct BlobStreamControl: Sendable {
    let engine: BlobStreamEngine

    /// The state of the stream, which may be read and observed.
    public var state: BlobObservable<BlobStreamState> { self.engine.state }

    /// Ends the stream as a cancellation does: a waiting read returns -1, with ``BlobError/Code/cancelled``. A stream
    /// at its end stays there, and cannot be opened again.
    public func cancel() { self.engine.cancel() }

    /// Sets the offset at which reading begins or continues; see ``BlobInputStream/setProperty(_:forKey:)``.
    ///
    /// - Parameter byteOffset: The offset in bytes, from 0 to the length.
    /// - Returns: False when the offset is refused; the stream is then unchanged.
    @discardableResult
    public func setOffset(_ byteOffset: Int64) -> Bool { self.engine.setOffset(byteOffset) }
}
