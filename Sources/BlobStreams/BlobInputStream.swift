import Foundation

/// Whether the calls of a stream wait for its source.
public enum BlobStreamMode: Sendable {
    /// Each call does its work before it returns. For bodies of HTTP requests and for loops of one's own.
    case synchronous
    /// Opening returns at once and events tell what comes; only a read of a stream that has no bytes waits, as
    /// Foundation's do. For delegates on run loops.
    case asynchronous
}

/// A Foundation `InputStream` over any data source: seekable, replayable, observable, and honest about its end.
///
/// A read returns 0 only after every byte arrived and every check of the end passed; anything else is -1, with the
/// ``BlobError`` in `streamError` and ``state``.
///
/// ## Threads
///
/// Every member may be called on any thread, on several at once, and in handlers of the stream's own delegate and
/// observers; each says whether it waits. Of two reads at once each gets bytes of its own, none of them twice. ``close()``
/// and the cancellation of the context end a read that another thread waits in.
///
/// ## Life
///
/// Opening leads to events `openCompleted` and, when bytes are there, `hasBytesAvailable`, or to `errorOccurred`; each
/// read with bytes remaining after it to `hasBytesAvailable`, and the last one to `endEncountered`. A delegate gets them
/// on the run loops that the stream is scheduled on, each event once, in this order, on the first run loop that comes to
/// it. Nothing is delivered without scheduling or after closing; events that nobody took are kept until the stream is
/// scheduled, but not for a delegate that is set when they have passed.
///
/// Opening again at the end starts over at the offset of the first opening, if the source is repeatable; in the middle
/// of the bytes it is an error, because whoever opens expects the start. What the stream holds is freed at the end,
/// after an error, by ``close()`` and with the stream.
open class BlobInputStream: InputStream, StreamDelegate {
    private let engine: BlobStreamEngine

    /// Creates a stream that is not open yet.
    ///
    /// - Parameters:
    ///   - source: Where the bytes come from.
    ///   - mode: Whether calls wait.
    ///   - context: The terms: its deadline and cancellation hold for the whole life of the stream, its idle limit for
    ///     the wait for each next byte.
    public init(
        _ source: any BlobInputStreamDataSource, mode: BlobStreamMode = .synchronous,
        context: BlobContext = BlobContext()
    ) {
        self.engine = BlobStreamEngine(source, mode, context)
        super.init(data: Data())
        self.engine.face = self
    }

    deinit { self.engine.close(evenUnopened: true) }

    /// The facts about the stream, to be read and observed on any thread. Never waits.
    public var state: BlobObservable<BlobStreamState> { self.engine.state }

    /// The part of the stream that may be handed to other threads and tasks. Any thread; never waits.
    public var control: BlobStreamControl { BlobStreamControl(engine: self.engine) }

    /// A stream over the same source in the same mode, which begins where this one began; for requests that must send
    /// their body again. Any thread.
    public func unopenedCopy() -> BlobInputStream {
        let copy = BlobInputStream(self.engine.source, mode: self.engine.mode, context: self.engine.context)
        _ = copy.engine.setOffset(self.engine.firstOffset)
        return copy
    }

    /// Has `handler` called once nothing will be read any more, for another reason than the end; before the stream is used.
    func onEnded(_ handler: @escaping @Sendable () -> Void) { self.engine.onEnded = handler }

    // MARK: InputStream

    /// Reads the next bytes.
    ///
    /// - Returns: How many bytes were read, from 1; 0 at the end, and when `length` is 0; -1 after an error, before
    ///   opening and after closing. Any thread; waits while the stream is opening or has no bytes, and for the read of
    ///   another thread.
    open override func read(_ buffer: UnsafeMutablePointer<UInt8>, maxLength length: Int) -> Int {
        self.engine.read(into: UnsafeMutableRawBufferPointer(start: buffer, count: max(length, 0)))
    }

    /// Lends the bytes that wait in memory, until the next call of the stream; they stay to be read. An end of the stream
    /// for another reason, as a cancellation, leaves the memory alone. Any thread, but the memory is one caller's: with
    /// several, each call ends the loan to another. Never waits.
    ///
    /// - Returns: False when none do; in synchronous mode some do behind a read of less than 16 KiB, and when the source
    ///   never blocks.
    open override func getBuffer(
        _ buffer: UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>, length: UnsafeMutablePointer<Int>
    ) -> Bool {
        guard let window = self.engine.lendWindow() else { return false }
        // Foundation's signature; whoever writes to it changes what is read.
        buffer.pointee = UnsafeMutablePointer(mutating: window.baseAddress?.assumingMemoryBound(to: UInt8.self))
        length.pointee = window.count
        return true
    }

    /// True from opening until the end is known, also after an error: false is taken for the end by those who poll it,
    /// as `URLSession` on Linux does. ``BlobStreamState/hasBytesAvailable`` tells whether a read would wait. Any thread;
    /// never waits.
    open override var hasBytesAvailable: Bool {
        switch self.state.value.phase {
        case .opening, .open, .failed: true
        case .notOpen, .atEnd, .closed: false
        }
    }

    // MARK: Stream

    /// Opens the stream, or starts over at its end; see the type's description. Any thread; in synchronous mode waits for
    /// the source.
    open override func open() { self.engine.open() }

    /// Ends the stream, for good, from whatever step it is in; before opening it does nothing. Takes the stream out of
    /// its run loops. Any thread; in synchronous mode the reader's own closing, unless another thread uses it, is done
    /// before this returns.
    open override func close() { self.engine.close() }

    /// The step that the stream is in; reading while a read runs. Any thread; never waits.
    open override var streamStatus: Stream.Status { self.engine.status }

    /// The ``BlobError`` that ended the stream, or that made the last read fail before opening or after closing. Any
    /// thread; never waits.
    open override var streamError: (any Error)? { self.engine.error }

    /// Who gets the events, not retained. The stream itself unless set, and again when set to nil. Any thread; a call of
    /// the old delegate may still be running.
    open override var delegate: (any StreamDelegate)? {
        get { self.engine.delegate }
        set { self.engine.delegate = newValue }
    }

    /// Delivers events on `runLoop` in `mode`, and keeps it running, until the stream is removed from it or closed. Any
    /// thread may call this for any run loop; that of another thread takes the stream up when it runs next.
    open override func schedule(in runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.schedule(in: runLoop, mode)
    }

    /// Ends what ``schedule(in:forMode:)`` began. Any thread; a call of the delegate may still be running on another one.
    open override func remove(from runLoop: RunLoop, forMode mode: RunLoop.Mode) {
        self.engine.unschedule(from: runLoop, mode)
    }

    /// For `.fileCurrentOffsetKey` the offset of the next byte, as a number; other keys are the reader's, if it is a
    /// ``BlobPropertyReader``. Any thread; for other keys waits for a read of another thread.
    open override func property(forKey key: Stream.PropertyKey) -> BlobStreamProperty? {
        if key == .fileCurrentOffsetKey { return NSNumber(value: self.state.value.byteOffset) }
        return self.engine.withProperties { $0.property(forKey: key) }?.map { $0 as BlobStreamProperty }
    }

    /// For `.fileCurrentOffsetKey` has reading begin or go on at an offset in bytes, from 0 to the length.
    /// Other keys are the reader's, if it is a ``BlobPropertyReader``.
    ///
    /// Setting the offset back from the end leaves the end. In synchronous mode the source is opened there before this
    /// returns; in asynchronous mode, and before opening, an offset that turns out to be past the end is an error of the
    /// stream. Costs nothing when the offset is the same. Any thread; in synchronous mode waits for the source.
    ///
    /// - Returns: False when the offset is refused: no number, negative, past the length, the source cannot be opened
    ///   there or again, its content changed, or the stream is closed or failed. Nothing has changed then.
    open override func setProperty(_ property: BlobStreamProperty?, forKey key: Stream.PropertyKey) -> Bool {
        guard key == .fileCurrentOffsetKey else {
            return self.engine.withProperties { $0.setProperty(property, forKey: key) } ?? false
        }
        guard let number = property as? NSNumber, let offset = Int64(exactly: number) else { return false }
        return self.engine.setOffset(offset)
    }

    // MARK: StreamDelegate

    /// Does nothing: the stream is its own delegate until another is set. For subclasses; called on the run loops that
    /// the stream is scheduled on, by one thread at a time.
    open func stream(_ stream: Stream, handle event: Stream.Event) {}
}
