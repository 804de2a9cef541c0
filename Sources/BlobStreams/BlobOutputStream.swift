import Foundation

/// The writing end of a ``BoundStreamPair``: a Foundation `OutputStream` whose reader gets every byte and then the end,
/// or an error.
///
/// The end of the bytes is ``close()``. A stream that is released without it has failed: the reader gets
/// ``BlobError/Code/truncated`` after the bytes so far, never a clean end. So does a reader get the error of
/// ``finish(throwing:)``, and that of a cancellation, deadline or idle limit.
///
/// ## Threads
///
/// Every member may be called on any thread, on several at once, and in handlers of the stream's own delegate and
/// observers; none but a write waits. The bytes of two writes at once arrive in pieces, in some order. ``close()``, the
/// reader's going and the cancellation of the context end a write that another thread waits in.
///
/// ## Events
///
/// Opening leads to `openCompleted` and `hasSpaceAvailable`, or to `errorOccurred`. `hasSpaceAvailable` comes again
/// after each write that leaves room, and when the reader makes room in a full pair; whoever leaves the room unused is
/// not told again. When the reader goes before the end, the event is `errorOccurred` and the error
/// ``BlobError/Code/closed``, with the reader's own error as its cause (on Apple platforms a bound pair tells of that
/// by `endEncountered`, which does not come here). A delegate gets the events on the run loops that the stream is
/// scheduled on, each event once, on the first run loop that comes to it. Nothing is delivered without scheduling or
/// after closing.
///
/// A write waits while there is no room, also in a delegate, which therefore writes once an event, or as long as
/// ``hasSpaceAvailable`` says so: on a run loop that the reader needs as well nobody would make room.
open class BlobOutputStream: BlobOutputStreamBase, StreamDelegate {
    deinit {
        let error = BlobError(.truncated, "The output stream was released before it was closed.", operation: .write)
        self.engine.finish(error, evenUnopened: true)
    }

    /// Ends the bytes with an error, and the stream; in whatever step it is, also before opening.
    ///
    /// - Parameter error: What the reader gets after the bytes written so far; nil is the clean end, as of ``close()``.
    ///   After the stream was closed or failed, nothing changes any more.
    open func finish(throwing error: (any Error)? = nil) {
        self.engine.finish(error.map { BlobError(wrapping: $0) }, evenUnopened: true)
    }

    /// The facts about the stream, to be read and observed on any thread.
    public var state: BlobObservable<BlobOutputStreamState> { self.engine.state }

    // MARK: OutputStream

    /// Writes the next bytes: as many as there is room for, which may be fewer than `length`. Any thread; waits while
    /// there is no room at all.
    ///
    /// - Returns: How many bytes were taken, from 1; 0 when `length` is 0; -1 after an error, before opening and after
    ///   closing, with the reason in ``streamError``.
    open override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        self.engine.write(UnsafeRawBufferPointer(start: buffer, count: max(length, 0)))
    }

    /// True while the stream is open and a write would not wait; also after an error, which a write then tells.
    open override var hasSpaceAvailable: Bool { self.engine.hasSpaceAvailable }

    // MARK: Stream

    /// Opens the stream; only the first time.
    open override func open() { self.engine.open() }

    /// Ends the bytes, and the stream for good: the reader meets a clean end once it has read what was written, unless
    /// the stream failed before. Before opening it does nothing. Takes the stream out of its run loops.
    open override func close() { self.engine.finish(nil, evenUnopened: false) }

    /// The step that the stream is in; writing while a write runs, `atEnd` never.
    open override var streamStatus: Stream.Status { self.engine.status }

    /// The ``BlobError`` that ended the stream, or that made the last write fail before opening or after closing.
    open override var streamError: (any Error)? { self.engine.error }

    /// Who gets the events, not retained. The stream itself unless set, and again when set to nil. A call of the old
    /// delegate may still be running on another thread.
    open override var delegate: (any StreamDelegate)? {
        get { self.engine.delegate }
        set { self.engine.delegate = newValue }
    }

    /// Delivers events on `runLoop` in `mode`, and keeps it running, until the stream is removed from it or closed. Any
    /// thread may call this for any run loop; that of another thread takes the stream up when it runs next.
    open override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.schedule(in: runLoop, mode)
    }

    /// Ends what ``schedule(in:forMode:)`` began. A call of the delegate may still be running on another thread.
    open override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.unschedule(from: runLoop, mode)
    }

    /// For `.fileCurrentOffsetKey` the number of bytes written so far; nil for every other key.
    open override func property(forKey key: Stream.PropertyKey) -> BlobStreamProperty? {
        key == .fileCurrentOffsetKey ? NSNumber(value: self.engine.state.value.byteOffset) : nil
    }

    /// Sets nothing: what was written passes by.
    ///
    /// - Returns: False.
    open override func setProperty(_ property: BlobStreamProperty?, forKey key: Stream.PropertyKey) -> Bool { false }

    // MARK: StreamDelegate

    /// Does nothing: the stream is its own delegate until another is set. For subclasses; called on the run loops that
    /// the stream is scheduled on, by one thread at a time.
    open func stream(_ stream: Stream, handle event: Stream.Event) {}
}
