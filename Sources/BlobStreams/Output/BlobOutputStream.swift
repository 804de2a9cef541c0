public import Foundation

/// The writing end of a ``BoundStreamPair``: a Foundation `OutputStream` whose reader receives every byte and then the
/// end, or an error.
///
/// ``close()`` marks the end of the bytes. A stream that is released without it has failed: the reader receives
/// ``BlobError/Code/truncated`` after the bytes written so far, never a clean end. It receives the error of
/// ``finish(throwing:)``, of a cancellation, of the deadline or of the idle limit in the same way.
///
/// ## Threads
///
/// Every member may be called on any thread, on several threads at once, and in the handlers of the stream's own
/// delegate and observers; only a write waits. The bytes of concurrent writes arrive in pieces, in no particular order.
/// ``close()``, the closing of the reader and the cancellation of the context end a write that is waiting on another
/// thread.
///
/// ## Events
///
/// Opening produces `openCompleted` and `hasSpaceAvailable`, or `errorOccurred`. `hasSpaceAvailable` is sent again
/// after each write that leaves room, and when the reader makes room in a full pair; room that is left unused is not
/// reported again. When the reader closes before the end, the event is `errorOccurred` and the error
/// ``BlobError/Code/closed``, with the reader's own error as its cause (a bound pair on Apple platforms reports this as
/// `endEncountered`, which is never sent here). A delegate receives the events on the run loops that the stream is
/// scheduled on, each event once, on the first run loop that reaches it. Nothing is delivered unless the stream is
/// scheduled, nor after closing.
///
/// A write waits while there is no room, also in a delegate. A delegate should therefore write once for each event, or
/// while ``hasSpaceAvailable`` is true: on a run loop that the reader also needs, no room would ever be made.
open class BlobOutputStream: BlobOutputStreamBase, StreamDelegate {
    deinit {
        let error = BlobError(.truncated, "The output stream was released before it was closed.", operation: "write")
        self.engine.finish(error, evenUnopened: true)
    }

    /// Ends the bytes with an error and closes the stream, in any phase, also before opening.
    ///
    /// - Parameter error: The error that the reader receives after the bytes written so far; nil is a clean end, as
    ///   with ``close()``. Ignored after the stream was closed or failed.
    open func finish(throwing error: (any Error)? = nil) {
        self.engine.finish(error.map { BlobError(wrapping: $0) }, evenUnopened: true)
    }

    /// The state of the stream, which may be read and observed on any thread.
    public var state: BlobObservable<BlobOutputStreamState> { self.engine.state }

    // MARK: OutputStream

    /// Writes as many of the next bytes as there is room for, which may be fewer than `length`. Any thread may call
    /// this; it waits while there is no room at all.
    ///
    /// - Returns: The number of bytes written, from 1; 0 when `length` is 0; -1 after an error, before opening and
    ///   after closing, with the reason in ``streamError``.
    open override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        self.engine.write(UnsafeRawBufferPointer(start: buffer, count: max(length, 0)))
    }

    /// True while the stream is open and a write would not wait, and after an error, which a write then reports.
    open override var hasSpaceAvailable: Bool { self.engine.hasSpaceAvailable }

    // MARK: Stream

    /// Opens the stream. Only the first call has an effect.
    open override func open() { self.engine.open() }

    /// Ends the bytes and closes the stream permanently: the reader reaches a clean end after the bytes that were
    /// written, unless the stream failed before. Before opening it does nothing. Removes the stream from its run loops.
    open override func close() { self.engine.finish(nil, evenUnopened: false) }

    /// The status of the stream; `writing` while a write runs, never `atEnd`.
    open override var streamStatus: Stream.Status { self.engine.status }

    /// The ``BlobError`` that ended the stream, or that made the last write fail before opening or after closing.
    open override var streamError: (any Error)? { self.engine.error }

    /// The delegate that receives the events, not retained. The stream itself unless set, and again when set to nil. A
    /// call of the old delegate may still be running on another thread.
    open override var delegate: (any StreamDelegate)? {
        get { self.engine.delegate }
        set { self.engine.delegate = newValue }
    }

    /// Delivers events on `runLoop` in `mode`, and keeps it running, until the stream is removed from it or closed. Any
    /// thread may call this for any run loop; for a run loop of another thread it takes effect when that runs next.
    open override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.schedule(in: runLoop, mode)
    }

    /// Reverts ``schedule(in:forMode:)``. A call of the delegate may still be running on another thread.
    open override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.unschedule(from: runLoop, mode)
    }

    /// Returns the number of bytes written so far for `.fileCurrentOffsetKey`; nil for every other key.
    open override func property(forKey key: Stream.PropertyKey) -> BlobStreamProperty? {
        key == .fileCurrentOffsetKey ? NSNumber(value: self.engine.state.value.byteOffset) : nil
    }

    /// Does nothing: the stream cannot seek.
    ///
    /// - Returns: False.
    open override func setProperty(_ property: BlobStreamProperty?, forKey key: Stream.PropertyKey) -> Bool { false }

    // MARK: StreamDelegate

    /// Does nothing: the stream is its own delegate until another is set. For subclasses to override; called on the run
    /// loops that the stream is scheduled on, by one thread at a time.
    open func stream(_ stream: Stream, handle event: Stream.Event) {}
}
