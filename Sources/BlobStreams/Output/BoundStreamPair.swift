public import Foundation

/// The output stream of a ``BoundStreamPair``, which documents its contract.
package final class BlobOutputStream: OutputStream, StreamDelegate {
    let engine: BlobOutputEngine

    init(_ engine: BlobOutputEngine) {
        self.engine = engine
        super.init(toMemory: ())
        engine.outputStream = self
    }

    #if !canImport(Darwin)
    /// Creates a stream without a reader, as is required of every `OutputStream` on Linux: every write fails with
    /// ``BlobError/Code/closed``.
    package required init(toMemory: ()) {
        self.engine = BlobOutputEngine()
        super.init(toMemory: ())
        self.engine.outputStream = self
    }
    #endif

    deinit {
        let error = BlobError(.truncated, "The output stream was released before it was closed.", operation: "write")
        self.engine.finish(error, includingUnopened: true)
    }

    /// Ends the bytes with an error and closes the stream, in any phase, even before opening.
    ///
    /// - Parameter error: The error that the reader receives after the bytes written so far. Ignored after the stream
    ///   was closed or failed.
    package func finish(throwing error: any Error) {
        self.engine.finish(BlobError(wrapping: error), includingUnopened: true)
    }

    /// The state of the stream, which can be read and observed on any thread.
    package var state: BlobObservable<BlobOutputStreamState> { self.engine.state }

    // MARK: OutputStream

    package override func write(_ buffer: UnsafePointer<UInt8>, maxLength length: Int) -> Int {
        self.engine.write(UnsafeRawBufferPointer(start: buffer, count: max(length, 0)))
    }

    package override var hasSpaceAvailable: Bool { self.engine.hasSpaceAvailable }

    // MARK: Stream

    package override func open() { self.engine.open() }

    package override func close() { self.engine.finish(nil, includingUnopened: false) }

    package override var streamStatus: Stream.Status { self.engine.status }

    package override var streamError: (any Error)? { self.engine.error }

    package override var delegate: (any StreamDelegate)? {
        get { self.engine.delegate }
        set { self.engine.delegate = newValue }
    }

    package override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.schedule(in: runLoop, mode)
    }

    package override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.unschedule(from: runLoop, mode)
    }

    /// Returns the number of bytes written so far for `.fileCurrentOffsetKey`; nil for every other key.
    package override func property(forKey key: Stream.PropertyKey) -> BlobStreamProperty? {
        key == .fileCurrentOffsetKey ? NSNumber(value: self.engine.state.value.byteOffset) : nil
    }

    /// Does nothing: the stream cannot seek.
    ///
    /// - Returns: False.
    package override func setProperty(_ property: BlobStreamProperty?, forKey key: Stream.PropertyKey) -> Bool { false }

    // MARK: StreamDelegate

    /// Does nothing: the stream is its own delegate until another is set.
    package func stream(_ stream: Stream, handle event: Stream.Event) {}
}

/// The observable state of a `BlobOutputStream`.
package struct BlobOutputStreamState: Equatable, Sendable {
    /// The phases of a stream's life. `closed` is final.
    package enum Phase: Sendable {
        /// Not opened yet.
        case notOpen
        /// Open; accepts bytes.
        case open
        /// Failed permanently; see `error`.
        case failed
        /// Closed permanently.
        case closed
    }

    /// The current phase of the stream.
    package var phase = Phase.notOpen

    /// True if a write would not wait.
    package var hasSpaceAvailable = false

    /// The error that ended the stream; nil unless it failed.
    package var error: BlobError?

    /// The number of bytes written.
    package var byteOffset: Int64 = 0

    package init() {}

    /// True if `other` differs at most in the number of bytes written and in whether space is available.
    func differsOnlyInProgress(from other: Self) -> Bool {
        var copy = self
        (copy.byteOffset, copy.hasSpaceAvailable) = (other.byteOffset, other.hasSpaceAvailable)
        return copy == other
    }
}

/// An input stream and an output stream with a bounded buffer between them.
///
/// Bytes written to the output are read from the input, in order, up to a clean end or an error. The counterpart of
/// `Stream.getBoundStreams` on Apple platforms, which Foundation on Linux lacks. Use it for a producer that writes, by
/// events or by blocking calls, to a consumer that accepts an `InputStream`, such as the body of an HTTP request.
///
/// - Closing the output ends the input cleanly, after the bytes written so far.
/// - An error passed to ``finish(throwing:)`` becomes an error of the input, after the bytes written so far. A
///   cancellation, the deadline and the idle limit have the same effect. If the output is released without being
///   closed, the error is ``BlobError/Code/truncated``; this is never a clean end.
/// - Closing, failure or release of the input becomes an error of the output, ``BlobError/Code/closed``, and ends a
///   waiting write. As in every input stream, closing does nothing before opening.
/// - The pair retains both streams: neither is released before the pair.
/// - The bytes can be read only once: opening the input a second time, or opening a copy of it as well, is an error.
///
/// Each end may be used on several threads or from several run loops, by blocking calls or by events, independently of
/// the other end. Neither end occupies a thread.
///
/// ```swift
/// let pair = BoundStreamPair()
/// var upload = request
/// upload.httpBodyStream = pair.input
///
/// let bytes = Array("Hello".utf8)
/// pair.output.open()
/// _ = pair.output.write(bytes, maxLength: bytes.count)
/// pair.output.close()
/// ```
public struct BoundStreamPair {
    /// The stream that reads the bytes written to ``output``.
    public let input: BlobInputStream

    /// The stream that accepts the bytes to be read from ``input``; the same object for each access.
    ///
    /// A write accepts as many of its bytes as fit, and returns their number, at least 1; 0 if no bytes are passed; -1
    /// after an error, before opening and after closing, with a ``BlobError`` in `streamError`. It waits while the pair
    /// is full. `hasSpaceAvailable` is true while the stream is open and a write would not wait, and after an error,
    /// which a write then reports. `streamStatus` is never `atEnd`, and `.fileCurrentOffsetKey` is the number of bytes
    /// written so far, which cannot be set.
    ///
    /// `close()` marks the end of the bytes, closes the stream permanently and removes it from its run loops: the
    /// reader reaches a clean end after the bytes that were written, unless the stream failed before. It does nothing
    /// before opening. Only the first `open()` has an effect.
    ///
    /// ## Threads
    ///
    /// Every member may be called on any thread, on several threads at once, and in the handlers of the stream's own
    /// delegate; only a write waits. The bytes of concurrent writes arrive in pieces, in no particular order.
    /// `close()`, ``finish(throwing:)``, the closing of the reader and the cancellation of the context end a write that
    /// is waiting on another thread.
    ///
    /// ## Events
    ///
    /// Opening produces `openCompleted` and `hasSpaceAvailable`, or `errorOccurred`. `hasSpaceAvailable` is sent again
    /// after each write that leaves free space, and when the reader makes space in a full pair; space that is left
    /// unused is not reported again. If the reader closes before the end, the event is `errorOccurred` and the error
    /// ``BlobError/Code/closed``, with the reader's own error as its cause (a bound pair on Apple platforms reports
    /// this as `endEncountered`, which is never sent here).
    ///
    /// The delegate is not retained. Until one is set, and after it is set to nil, it is the stream itself, which
    /// ignores the events. A delegate receives the events on the run loops on which the stream is scheduled, each event
    /// once, on the first run loop that reaches it; scheduling keeps a run loop running. Events are delivered only
    /// while the stream is scheduled, and never after closing. After the stream is removed from a run loop or assigned
    /// another delegate, a call to the old delegate may still be running on another thread.
    ///
    /// A delegate should write once for each event, or while `hasSpaceAvailable` is true, because a write to a full
    /// pair waits even in a delegate: on a run loop that the reader also needs, no space would ever become available.
    public var output: OutputStream { self.writer }

    /// The same stream as ``output``.
    package let writer: BlobOutputStream

    /// Creates a pair of unopened streams.
    ///
    /// - Parameters:
    ///   - capacity: The maximum number of bytes buffered between the streams, at least 1. The memory exists only while
    ///     bytes are buffered.
    ///   - context: The context of both streams. Its deadline and cancellation apply to the whole job, its idle limit
    ///     to each wait for the next byte or for free space, whether in a call or for an event.
    public init(capacity: Int = BlobPipe.defaultCapacity, context: BlobContext = BlobContext()) {
        let buffer = PipeBuffer(capacity: capacity)
        let isTaken = Locked(false)
        let source = SequentialSource(layer: "BoundStreamPair", info: BlobInfo()) { _ in
            guard !isTaken.exchange(true) else { throw BlobError(.closed, "The input stream of the pair was closed.") }
            return .stream(PipeStream(buffer, info: BlobInfo()), startingAt: 0)
        }
        // Synchronous: an event-driven reader needs no thread to open or to read, and events are sent nevertheless.
        self.input = BlobInputStream(source, mode: .synchronous, context: context)
        // Once there is a reader, closing it notifies the output; before then, only this handler does.
        self.input.onEnded { if !isTaken.exchange(true) { buffer.closeReader() } }
        self.writer = BlobOutputStream(BlobOutputEngine(buffer, readerState: self.input.state, context))
    }

    /// Ends the bytes with an error and closes ``output``, in any phase, even before opening.
    ///
    /// Any thread may call this; it never waits.
    ///
    /// - Parameter error: The error that the reader receives after the bytes written so far, as a ``BlobError``.
    ///   Ignored after the output was closed or failed. It never becomes the `streamError` of the output.
    public func finish(throwing error: any Error) { self.writer.finish(throwing: error) }
}
